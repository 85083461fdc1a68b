#pragma once

#include "import/draft.hpp"
#include "import/settings.hpp"

namespace lockstep::importing {

/// Takes the numbers of nodes and of GPUs a node from options of torchrun, srun, mpirun and accelerate
/// (`nnodes`, `nproc-per-node`, `ntasks-per-node`, `num-processes`). Values that the file does not know are
/// remarked.
/// @throws InputError for numbers that are none
void read_launcher(Settings& settings, Draft& draft);

}  // namespace lockstep::importing
