#pragma once

#include <filesystem>
#include <span>

#include "ops/job.hpp"
#include "traces/chakra/chakra_spec.hpp"
#include "traces/import_report.hpp"

namespace lockstep::chakra {

/// Converted traces (is_converted()) of all ranks as a Job, rank r on the r-th of @p gpus. Process groups are
/// those of the scenario's file, else those that the traces list.
/// @param report takes what is odd about the traces
/// @throws InputError naming the file: what read_converted() and graph_of() reject, a rank without a file, a
///   process group that is not known or that a rank is no member of
[[nodiscard]] Job converted_job(const ChakraSpec& spec, const std::filesystem::path& folder,
                                std::span<const VertexId> gpus, ImportReport& report);

}  // namespace lockstep::chakra
