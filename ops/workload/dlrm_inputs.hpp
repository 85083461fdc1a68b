#pragma once

#include <cstdint>
#include <optional>

#include "ops/workload/batch_loader.hpp"
#include "ops/workload/dlrm_embeddings.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/layers/input_distribution.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// How a batch comes to the tables: copies to the device, and the input distribution where it is asked for.
///
/// Without a pipeline the host copies, distributes and waits within the step. With `sparse_dist` (TorchRec's
/// TrainPipelineSparseDist) a step's program is that of the filled pipeline: while batch i is trained, batch
/// i + 1 is distributed on the stream `data_dist` and batch i + 2 copied on `memcpy`; without input
/// distribution batch i + 1 is copied. What a step takes from the step before, it waits for through carried
/// events: in the first step they hold nothing up, as if the pipeline had been filled beforehand. A loop that
/// synchronises in each step does so behind the fetch of a later batch, as NVIDIA's DLRM
/// (DeepLearningExamples).
class DlrmInputs {
 public:
  /// @param dense_samples whose dense features the ranks of this program take; 0: none
  DlrmInputs(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
             const DlrmEmbeddings& embeddings, std::int64_t dense_samples);

  void begin_step();
  void copy_labels();  ///< where they have not come with the batch
  void before_lookup();
  void before_lookup_of(std::size_t group);
  void before_backward();

  /// Batches on the device at a time: the one that is trained and those that are fetched ahead.
  [[nodiscard]] int batches() const { return prefetches() ? (distribution_ ? 3 : 2) : 1; }
  [[nodiscard]] Bytes index_size() const;  ///< of an index or offset

  /// Batches are fetched before the step that trains them.
  [[nodiscard]] bool prefetches() const {
    return setup_.parallelism.embedding.pipeline == InputPipeline::SparseDist;
  }

 private:
  using Copy = std::function<void(const std::function<Bytes(std::size_t rank)>& size)>;

  [[nodiscard]] bool has_offsets() const;
  void copy_indices(const Copy& copy) const;
  void copy_batch(const Copy& copy) const;
  void blocking_copies();
  void prefetch();
  void copy_ahead();
  void start_distribution();
  void let_compute_wait_for(const char* stream);

  StepWriter& step_;
  const DlrmSpec& spec_;
  const TrainingSetup& setup_;
  const DlrmEmbeddings& embeddings_;
  std::int64_t local_batch_;
  std::int64_t dense_samples_;
  BatchLoader loader_;
  std::optional<InputDistribution> distribution_;
};

}  // namespace lockstep
