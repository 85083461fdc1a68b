#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "ops/job.hpp"
#include "traces/chakra/chakra_spec.hpp"
#include "traces/chakra/rank_shapes.hpp"
#include "traces/import_report.hpp"

namespace lockstep {

/// The traces of all ranks as a Job for the executor: rank r on the r-th of @p gpus. Ranks whose traces
/// differ in durations alone share a Program.
/// @param folder what relative names in @p spec start from
/// @param rates of the GPU of each rank, which time nodes that have operations and bytes in place of a
/// duration;
///   empty: such nodes are an error
/// @param report takes what is odd about the traces; null: nobody asks
/// @throws InputError naming the file: what read_graph() rejects, a rank without a file, a process group that
/// does
///   not exist or that a rank is no member of, members of a group that do not call the same collectives in
///   the same order, messages that do not meet (meet_messages())
/// @throws std::invalid_argument when there are more ranks than GPUs
[[nodiscard]] Job chakra_job(const ChakraSpec& spec, const std::filesystem::path& folder,
                             std::span<const VertexId> gpus, std::span<const chakra::NodeRates> rates = {},
                             ImportReport* report = nullptr);

}  // namespace lockstep
