#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Buffers of a module of one type: tensors that are no parameters (a batch norm's averages, causal masks).
struct ModuleBuffers {
  DataType type = DataType::FP32;
  std::vector<std::int64_t> elements;  ///< of each
};

/// Writes what DistributedDataParallel does before a step's first forward pass (`broadcast_buffers=True`).
/// Rank 0's buffers are put together by type, broadcast, and copied back one by one, from C++; the host waits
/// for nothing. Apex's has none of it, nor has one rank.
///
/// *Source*: torch/csrc/distributed/c10d/comm.cpp (broadcast_coalesced); the order, with 106 and 53 buffers
/// of a ResNet-50, ../shared/data/traces/pytorch_et/resnet_2gpu_et_1.1.0.json.gz
void broadcast_buffers(StepWriter& step, std::span<const ModuleBuffers> buffers);

}  // namespace lockstep
