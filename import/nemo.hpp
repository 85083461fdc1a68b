#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// YAML of NeMo (`model:` and `trainer:`) or of Megatron-Bridge (`model:` and `train:`).
[[nodiscard]] bool is_nemo(const SourceFile& file);

/// Reads it by the names of Megatron-LM's arguments.
/// @throws InputError for numbers that are none
void read_nemo(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
