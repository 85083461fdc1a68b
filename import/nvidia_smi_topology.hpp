#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// `nvidia-smi topo -m`: a matrix with NV#, PIX, PXB, PHB, NODE, SYS.
[[nodiscard]] bool is_nvidia_smi_topology(const SourceFile& file);

/// Draws the machine that it describes.
/// @throws InputError with the line that cannot be read
void read_nvidia_smi_topology(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
