#pragma once

#include "import/draft.hpp"
#include "import/settings.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// DeepSpeed's JSON: `zero_optimization` or `train_micro_batch_size_per_gpu`.
[[nodiscard]] bool is_deepspeed(const SourceFile& file);

/// @throws InputError for numbers that are none
void read_deepspeed(const SourceFile& file, Draft& draft);

/// Sets what a stage of ZeRO means. @throws InputError for none of 0 to 3
void set_zero_stage(const Setting& stage, Draft& draft);

}  // namespace lockstep::importing
