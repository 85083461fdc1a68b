#pragma once

#include <filesystem>
#include <span>

#include "ops/job.hpp"
#include "traces/chakra/chakra_spec.hpp"

namespace lockstep::chakra {

/// The Job whose ranks' Programs stand in the traces of @p spec (kind_of_traces()): rank r on the r-th of @p
/// gpus. Ranks whose traces say the same share a Program.
/// @throws InputError: what read_program() rejects; a process group that the file of groups does not list, or
/// that a
///   rank is no member of
[[nodiscard]] Job program_job(const ChakraSpec& spec, const std::filesystem::path& folder,
                              std::span<const VertexId> gpus);

}  // namespace lockstep::chakra
