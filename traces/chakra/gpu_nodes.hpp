#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ops/job.hpp"
#include "sim/kernel_timing.hpp"

namespace lockstep::chakra {

/// The records of one rank's trace as ASTRA-sim's feeder reads it: nodes of the GPU alone, each with its
/// length in front. There is no host: what a thread waited for on the GPU, its later launches depend on.
///
///   data_deps        the node before on the stream; what the stream, or the launching thread, was told to
///   wait for COMP             `duration_micros`, at least 1; `num_ops` of products; `tensor_size` of copies
///   COMM_COLL        `comm_type`, `comm_size`, `pg_name`
///   COMM_SEND, _RECV `comm_size`, `comm_src`, `comm_dst`, `comm_tag`
///
/// *Source*: mlcommons/chakra, feeder v3, and astra-sim's workload layer: whole microseconds, int64 sizes,
/// pg_name a number as text.
/// @param kernels by index into Program::kernels, on the rank's GPU
[[nodiscard]] std::string gpu_trace_of_rank(const Job& job, std::uint32_t rank,
                                            std::span<const KernelTiming> kernels);

}  // namespace lockstep::chakra
