#pragma once

#include <span>

#include "import/words.hpp"

namespace lockstep::importing {

/// Megatron-LM's arguments that are a key of the scenario, or none, each by itself.
[[nodiscard]] std::span<const Word> megatron_words();

}  // namespace lockstep::importing
