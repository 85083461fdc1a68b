#pragma once

#include "base/units.hpp"

namespace lockstep {

/// Dense peaks, without sparsity, at the clock the GPU sustains. Zero: the GPU has no such unit.
struct PeakThroughput {
  FlopsPerSecond fp32;  ///< CUDA cores, a multiply-add counts as two
  FlopsPerSecond tf32;  ///< tensor cores, FP32 accumulation, as all below
  FlopsPerSecond fp16;
  FlopsPerSecond bf16;
  FlopsPerSecond fp8;

  template <class Visitor>
  static void describe(Visitor& key, PeakThroughput& peak) {
    key.required("fp32", peak.fp32, "CUDA cores, e.g. 19.5 TFLOPS");
    key.optional("tf32", peak.tf32, FlopsPerSecond{0}, "tensor cores, dense; 0 when there are none");
    key.optional("fp16", peak.fp16, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
    key.optional("bf16", peak.bf16, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
    key.optional("fp8", peak.fp8, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
  }
};

}  // namespace lockstep
