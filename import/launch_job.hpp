#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/workload/workload.hpp"

namespace lockstep::importing {

/// A job whose launch flags are written.
struct LaunchJob {
  WorkloadSpec workload;
  ParallelismSpec parallelism;
  int nodes = 1, gpus_per_node = 1;

  [[nodiscard]] int gpus() const { return nodes * gpus_per_node; }
  [[nodiscard]] const TransformerPlanSpec& plan() const { return parallelism.transformer; }
  [[nodiscard]] const TransformerSpec& model() const { return workload.model->transformer.value(); }
  [[nodiscard]] int data() const { return gpus() / (plan().tensor * plan().pipeline * plan().context); }
  [[nodiscard]] std::int64_t micro_batch() const;
  [[nodiscard]] std::int64_t sequence() const { return workload.sequence.value_or(model().sequence); }
};

/// Flags as they grow, and what has none.
struct LaunchFlags {
  std::vector<std::string> flags;
  std::vector<std::string> missing;

  /// A flag with its value, where it is wanted.
  void add(bool wanted, std::string_view flag);
  /// Says that the framework has no flag, where the job needs one.
  void lacks(bool wanted, std::string_view why);
};

[[nodiscard]] LaunchFlags megatron_flags(const LaunchJob& job);
[[nodiscard]] LaunchFlags torchtitan_flags(const LaunchJob& job);
/// The lines of DeepSpeed's JSON.
[[nodiscard]] LaunchFlags deepspeed_lines(const LaunchJob& job);

}  // namespace lockstep::importing
