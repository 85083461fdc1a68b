#pragma once

/// @file
/// Tensors of a recorded rank: which storage each kernel reads and writes, and where each storage lies while
/// it is in use.

#include <cstdint>
#include <functional>
#include <vector>

#include "generate/benchmark.hpp"
#include "traces/pytorch_et/execution_trace.hpp"
#include "traces/replay/rank_recording.hpp"

namespace lockstep::generate {

/// Views that a kernel reads and writes: indices into MemoryPlan::views.
struct WorkOperands {
  std::vector<std::uint32_t> reads, writes;
};

struct PlannedOperands {
  MemoryPlan plan;
  std::vector<WorkOperands> of_work;  ///< by RecordedTrace::work
};

/// Plans the memory of one rank. A storage is as large as the largest end of its views. It lives from the
/// kernel that writes it whole to the last one that reads it; one that is read first lives all the time.
/// Those that live at the same time have places of their own.
/// @param trace execution trace of @p rank
/// @param largest by work: bytes of the largest storage that its kernel takes operands from; 0: it takes none
[[nodiscard]] PlannedOperands plan_operands(const replay::RankRecording& rank,
                                            const pytorch_et::ExecutionTrace& trace,
                                            const std::function<double(std::uint32_t)>& largest);

/// A storage is in use from one moment to another; moments count kernels.
struct StorageLife {
  std::uint32_t first = 0, last = 0;
  std::int64_t bytes = 0;
};

/// The place of each, in bytes: lives that overlap do not share any. The largest are placed first, each as
/// low as it can be.
[[nodiscard]] std::vector<std::int64_t> places_of(const std::vector<StorageLife>& lives);

/// Bytes that PyTorch's caching allocator reserves at most for the same lives.
[[nodiscard]] std::int64_t allocator_peak(const std::vector<StorageLife>& lives);

}  // namespace lockstep::generate
