#pragma once

#include <cstdint>

#include "ops/memory_ledger.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// The name of its work.
inline constexpr const char* kCpuAdam = "cpu_adam";

/// An optimizer that runs on the CPU (`offload: optimizer` or `parameters`): reduced gradients leave for host
/// memory while backward goes on, the host updates its FP32 states, and the new parameters come back while it
/// works on the next ones.
///
///   time of the CPU = elements x bytes of an element / (bandwidth x kUpdateEfficiency)
///   bytes of an element = g + 12 read (gradient, master weight, two moments) + 12 + z written
///
/// with g bytes of a gradient, z of a parameter in the type of matrix products (none without mixed
/// precision), bandwidth that of the host's DRAM divided by its ranks.
///
/// but Adam's elements / (`offload_threads` x kUpdatesOfThread) where so many threads take longer.
///
/// *Assumes*: without `offload_threads` there are threads enough (of a DGX-2's, two on each of 48 cores), so
/// that Adam's arithmetic hides behind its memory traffic; all ranks of a host update at the same time;
/// copies over PCIe do not slow the CPU's memory accesses down. *Source*: Ren et al., ZeRO-Offload, arXiv
/// 2101.06840, sections 4 and 5; DeepSpeed runtime/zero/stage_1_and_2.py (copy_grads_in_partition,
/// async_accumulate_grad_in_cpu_via_gpu, unscale_and_clip_grads).
class HostOptimizer {
 public:
  /// Share of the DRAM's peak that CPU-Adam reaches: 25 billion parameters in 6.74 s on a DGX-2 (the sums of
  /// ZeRO-Offload's table 4), 28 B each, of 2 sockets x 128 GB/s.
  static constexpr double kUpdateEfficiency = 0.41;
  /// Parameters that a thread updates in a second: what 8 ranks of one thread (torchrun's OMP_NUM_THREADS)
  /// took longer with CPU-Adam than without, 20.1 and 16.8 s for 842 million parameters of LLaMA 7B each
  /// (gist.github.com/chenyaofo/d4cd6a20: ZeRO-2 and ZeRO-3 on 8 A800), 42 and 50 million a second; 31
  /// million in 17.2 s for 540 (github.com/ISEEKYAN/Megatron-LM/issues/188); 39 of each of 96 on the DGX-2.
  static constexpr double kUpdatesOfThread = 40e6;
  static constexpr double kError = 0.35;  ///< half of Adam's band: these four, and table 4's largest 22 %
  /// Parameters that are updated before their copy back starts (DeepSpeed csrc/includes/cpu_adam.h: TILE).
  static constexpr std::int64_t kTile = std::int64_t{128} * 1024 * 1024;

  struct Setup {
    BytesPerSecond bandwidth{0};  ///< of host memory, for this rank; > 0 where the plan offloads
    bool norm = false;            ///< of the gradients is wanted: computed on the GPU before they leave
  };
  /// A rank's share of a bucket of gradients.
  struct Share {
    Bytes bucket{0};  ///< on the GPU until it has left
    double elements = 0;
    EventId reduced = 0;  ///< when it may leave
  };

  /// @param memory of the GPU: gradients pass through it
  HostOptimizer(StepWriter& step, const ParallelPlan& plan, MemoryLedger& memory, Setup setup)
      : step_{step}, plan_{plan}, memory_{memory}, setup_{setup} {}

  [[nodiscard]] bool is_used() const { return plan_.spec.offload != Offload::None; }

  /// Marks the gradients that follow as those of the first, or of the last, micro-batch.
  void begin(bool first, bool last);

  /// A parameter's gradient is on the GPU until its bucket has left.
  void hold(Bytes gradient);

  /// @p share leaves once it is reduced; from the second micro-batch on what is on the host is fetched and
  /// added first. In a pipeline the last micro-batch's waits for flush(): tied embeddings are summed between.
  void leave(const Share& share);

  /// Sends what leave() put off, after all that the compute stream holds, which waits for it, and for norms.
  void flush();

  /// Waits for the gradients, updates @p elements parameters and copies them to the GPU (not with `offload:
  /// parameters`: they stay). The compute stream waits for them.
  void update(std::int64_t elements);

 private:
  void copy_out(double elements);
  [[nodiscard]] Seconds traffic(double bytes) const;
  /// Gradients of all parameters stay on the GPU until the step's end, where they are counted as such.
  [[nodiscard]] bool passes_through() const { return plan_.spec.sharding != Sharding::Zero1; }
  [[nodiscard]] DataType gradient_type() const;

  StepWriter& step_;
  const ParallelPlan& plan_;
  MemoryLedger& memory_;
  Setup setup_;
  bool accumulates_ = false, last_ = true;
  Bytes leaving_{0};    // of gradients on the GPU
  double put_off_ = 0;  // elements
};

}  // namespace lockstep
