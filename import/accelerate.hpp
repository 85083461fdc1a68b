#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// YAML of `accelerate config`: `distributed_type` and `compute_environment` or `num_processes`.
[[nodiscard]] bool is_accelerate(const SourceFile& file);

/// @throws InputError for numbers that are none
void read_accelerate(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
