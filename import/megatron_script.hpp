#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// A shell script or command line with arguments of Megatron-LM.
[[nodiscard]] bool is_megatron_script(const SourceFile& file);

/// Reads the last command that has arguments of Megatron-LM, and the numbers of nodes and GPUs that torchrun,
/// srun, mpirun or `#SBATCH` start.
/// @throws InputError for broken quotes, and numbers that are none
void read_megatron_script(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
