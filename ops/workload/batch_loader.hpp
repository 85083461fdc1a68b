#pragma once

#include <cstdint>
#include <functional>

#include "ops/workload/step_writer.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// Host work that a LoaderSpec states: of the workers, and of the training process.
inline constexpr const char* kPrepareBatch = "prepare batch";
inline constexpr const char* kDataLoading = "data loading";

/// How a step gets its batches from a LoaderSpec.
///
/// With workers a host thread `loader` stands for all of a rank's: it hands a batch over every samples x
/// time_per_sample x contention / workers, the pace of workers that take turns. The first batch of a run is
/// there when it begins, as behind a warm queue, so that a step lasts at least as long as its batches take
/// from the second step on. How far workers run ahead is not limited (prefetch_factor: 2 batches each); that
/// matters only where the training process is held up for longer than those last. Without workers the
/// training process spends that time itself.
///
/// *Source:* torch/utils/data/dataloader.py (_MultiProcessingDataLoaderIter: workers in turn, batches in
/// order). *Assumes* that every rank prepares its own batches, which take equally long.
class BatchLoader {
 public:
  /// @param samples of a batch, as one rank fetches it
  BatchLoader(StepWriter& step, const TrainingSetup& setup, std::int64_t samples);

  /// Before the first next() of a step. @param batches that the step will fetch
  void begin_step(int batches);
  /// The training process asks for a batch, and has it.
  void next();

  enum class Copy : std::uint8_t { Blocking, NonBlocking };
  /// A part of the batch to the device, on the current stream. From memory that is not pinned the host
  /// returns when the copy has ended, whatever it was asked for (CUDA Runtime API, "API synchronization
  /// behavior": what is before it on the stream ends first, then the host stages; it returns within 0.1 ms of
  /// the end,
  /// ../shared/data/traces/cuda_sync; copies of kCopyInCommands do not wait).
  void copy(const std::function<Bytes(std::size_t rank)>& size, Copy how);
  void copy(Bytes size, Copy how);

 private:
  [[nodiscard]] bool has_workers() const;

  StepWriter& step_;
  const LoaderSpec& spec_;
  Seconds interval_;
};

}  // namespace lockstep
