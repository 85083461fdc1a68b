#pragma once

#include <cstddef>

#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Host time of torch.optim for each parameter beside its operators' own overheads: loops in Python
/// and lists of tensors, which no operator of a profile has. Hidden while the GPU has enough to do; in the
/// open where the host has just waited (FP16's GradScaler, clipping that reads the norm) or is what a step
/// waits for.
///
///   time of the host = parameters x (a constant below) x T1 between operators, each
///
/// *Source*: traces of this project's steps on one H100 and one H200 (27 November 2026, PyTorch 2.11, without
/// shapes; 40 steps of AdamW, 20 of SGD, 26 to 428 parameters), on whose hosts T1 is 6 us, medians of the
/// H200's: from `Optimizer.step` to its first operator 9 us a parameter (AdamW 8 to 18, SGD 7 to 8),
/// zero_grad 2.8, `aten::_foreach_add_` of counts of steps on the host 2.7 to 3.8, `aten::_foreach_sqrt`,
/// which makes its results, 7.5 (half of it the profiler's, taken), other `_foreach` operators 0.65.
/// *Assumes* that these scale with the host's other Python, and that releases since 2.0 are alike.
struct OptimizerHost {
  static constexpr double kGroup =
      1.4;  ///< _init_group: gradients and states are looked up, in lists by type
  static constexpr double kSteps = 0.4;      ///< AdamW of many tensors: counts of steps, on the host
  static constexpr double kList = 0.1;       ///< an operator of many tensors: pointers and sizes
  static constexpr double kNewTensor = 0.6;  ///< and one that makes its results
  static constexpr double kZero = 0.45;      ///< zero_grad(set_to_none=True)
  static constexpr double kError = 0.3;      ///< half of the band: from trace to trace

  /// @param share one of the constants, or a sum of them
  static void write(StepWriter& step, double share, std::size_t parameters);
};

/// The name of this work.
inline constexpr const char* kOptimizerHost = "torch.optim in Python";

}  // namespace lockstep
