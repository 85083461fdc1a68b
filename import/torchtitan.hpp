#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// TOML of torchtitan: tables `training` and `model` or `parallelism`.
[[nodiscard]] bool is_torchtitan(const SourceFile& file);

/// Reads it. A flavor that configs/models has (llama3 8B, 70B, 405B) becomes that model.
/// @throws InputError for numbers that are none
void read_torchtitan(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
