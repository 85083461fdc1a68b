#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/parallel/host_optimizer.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Gradients of a rank of a plan, on their way to the other data-parallel ranks. Dense parameters are reduced
/// over `dp`, experts' over `edp`.
///   none          all-reduce
///   zero1, zero2  reduce-scatter: each rank needs only its share. zero2 keeps no more than that, so that
///                 every micro-batch reduces; the others do in the last one
///   zero3         reduce-scatter by layer (layer_done), in every micro-batch or the last
///                 (`reduce_each_micro_batch`); round it the copies and casts of `zero3_implementation`
/// With a `shard_group` the share that a rank needs is summed over its counterparts in other groups.
/// Up to zero1 the gradients of a step are added to a buffer of zeros, but where autograd keeps them (models
/// in PyTorch's operators). Megatron-LM multiplies it by one over
/// the data-parallel ranks before it is summed, unless the collective averages (`average_in_collective`).
/// With `offload` the rank's share of what was reduced goes on to the host.
/// *Source*: Megatron-LM core/distributed (param_and_grad_buffer.py); Rajbhandari et al., arXiv 1910.02054,
/// section 7; torch.distributed.fsdp.
class GradientReduction {
 public:
  struct Rules {
    bool scales = false;          ///< gradients are multiplied before they are summed
    bool sums_in_buffer = false;  ///< those of the first micro-batch are added, too
  };

  /// @param bucket reduced at once
  GradientReduction(StepWriter& step, const ParallelPlan& plan, Bytes bucket, const Rules& rules,
                    HostOptimizer& host)
      : step_{step}, plan_{plan}, bucket_{bucket}, rules_{rules}, host_{host} {}

  /// Marks the gradients that follow as those of the first, or the last, micro-batch (both if there is one).
  void begin(bool first, bool last);

  /// The gradient of a parameter of this rank is there: added to that of earlier micro-batches, and reduced
  /// with others when a bucket is full.
  void accumulate(std::int64_t elements, bool expert);

  /// The same for a gradient that the product before has added itself.
  void ready(std::int64_t elements, bool expert);

  /// zero3: backward of a layer is over: its gradients are reduced together.
  void layer_done();

  /// Keeps what is ready and not reduced until pass_done(), with PyTorch's FSDP: it has one unit of what no
  /// layer holds, embedding and head, whose gradients are all there when the pass ends (autograd's node of
  /// the flat parameter; _fully_shard/_fsdp_state.py, _root_post_backward_final_callback).
  void put_off();

  /// zero3: the pass is over: what is left of it is reduced.
  void pass_done();

  /// At the end of the step: reduces what is left; the compute stream waits for everything.
  void finish();

 private:
  struct Bucket {
    std::int64_t open = 0, pieces = 0;
    bool expert = false;
  };
  void reduce(Bucket& bucket);
  void reduce_here(Bucket& bucket);
  void copy_shards(std::int64_t elements, std::int64_t pieces);
  void communicate(const Bucket& bucket, Bytes size);
  void copy_back(std::int64_t elements, std::int64_t pieces);
  void keep_shares(std::int64_t elements);
  [[nodiscard]] bool is_reduced(bool expert) const { return plan_.replication(expert).replicas > 1; }
  /// Experts' gradients by one over the replicas of dense parameters, whether they have replicas or not.
  [[nodiscard]] bool is_scaled(bool expert) const {
    return rules_.scales && (is_reduced(expert) || (expert && is_reduced(false)));
  }
  [[nodiscard]] DataType type() const;  ///< that is reduced
  [[nodiscard]] DataType type_of_sums() const;

  StepWriter& step_;
  const ParallelPlan& plan_;
  Bytes bucket_;
  Rules rules_;
  HostOptimizer& host_;
  Bucket dense_{}, expert_{.expert = true}, put_off_{};
  bool first_ = true, reduces_ = true;
  bool adds_shares_ = false;  ///< to those of earlier micro-batches
  std::vector<EventId> ends_;
};

}  // namespace lockstep
