#include "ops/workload/parallel/norm_kernels.hpp"

#include <algorithm>

#include "ops/workload/layers/layer_norm.hpp"

namespace lockstep {
namespace {

using Part = LayerNorm::Part;

constexpr double kPersistentForward = 10, kPersistentBackward = 14;  // instructions an element, counted
constexpr std::int64_t kResidentBlocks = 256;  // two for each of some 130 SMs: rows of partial sums

KernelCall call(const char* name, DataType type, LayerNorm norm) {
  return {name, type, norm};
}

}  // namespace

KernelCall norm_forward_kernel(const TransformerSpec& model, DataType type, std::int64_t rows,
                               std::int64_t columns) {
  if (model.norm_kernels != NormKernels::Persistent) {
    return layer_norm_kernel(model.norm_kernels == NormKernels::Apex, type, rows, columns);
  }
  const bool rms = model.normalisation == Normalisation::Rms;
  LayerNorm norm{.rows = rows, .columns = columns, .part = Part::Forward};
  norm.fused = {.reads = 1, .writes = 1};
  norm.instructions = kPersistentForward;
  return call(rms ? "rms_norm_fwd_kernel" : "ln_fwd_kernel", type, norm);
}

std::array<KernelCall, 2> norm_backward_kernels(const TransformerSpec& model, DataType type,
                                                std::int64_t rows, std::int64_t columns) {
  if (model.norm_kernels != NormKernels::Persistent) {
    return layer_norm_gradient_kernels(model.norm_kernels == NormKernels::Apex, type, rows, columns);
  }
  const bool rms = model.normalisation == Normalisation::Rms;
  LayerNorm input{.rows = rows, .columns = columns, .part = Part::InputGradient};
  LayerNorm gain{.rows = rows, .columns = columns, .part = Part::ParameterGradient};
  input.fused = {.reads = 2, .writes = 1};
  input.instructions = kPersistentBackward;
  gain.rows = std::min(rows, kResidentBlocks);
  gain.fused = {.reads = rms ? 1.0 : 2.0, .writes = 0};
  gain.instructions = 1;
  return {call(rms ? "rms_norm_bwd_kernel" : "ln_bwd_kernel", type, input),
          call(rms ? "rms_norm_bwd_finalize_kernel" : "ln_bwd_finalize_kernel", DataType::FP32, gain)};
}

}  // namespace lockstep
