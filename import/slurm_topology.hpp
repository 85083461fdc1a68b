#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// SLURM's topology.conf: lines with SwitchName or BlockName.
[[nodiscard]] bool is_slurm_topology(const SourceFile& file);

/// Draws the machine that it describes.
/// @throws InputError with the line that cannot be read
void read_slurm_topology(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
