#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// XML that NCCL writes to NCCL_TOPO_DUMP_FILE, or a cloud ships as NCCL_TOPO_FILE.
[[nodiscard]] bool is_nccl_topology(const SourceFile& file);

/// Draws the machine that it describes.
/// @throws InputError with the line that cannot be read
void read_nccl_topology(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
