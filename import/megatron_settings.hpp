#pragma once

#include "import/draft.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {

/// Whether Megatron-LM has an argument of this name (without dashes before it).
[[nodiscard]] bool is_megatron_key(std::string_view key);

/// Reads arguments of Megatron-LM, by their names without the two dashes before. Their defaults are
/// Megatron-LM's (megatron/training/arguments.py).
/// @param source the file, for what no key says
void read_megatron_settings(Settings& settings, const Source& source, Draft& draft);

}  // namespace lockstep::importing
