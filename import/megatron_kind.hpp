#pragma once

#include <optional>

#include "import/draft.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {

/// The kind of model that a script of Megatron-LM, or its arguments, name: T5, RETRO, Mamba and its hybrids.
/// @param script the word that ends in `.py`, or the first one
[[nodiscard]] std::optional<NamedKind> named_kind(const Settings& settings, const Source& script);

}  // namespace lockstep::importing
