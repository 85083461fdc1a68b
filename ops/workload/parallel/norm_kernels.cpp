#include "ops/workload/parallel/norm_kernels.hpp"

#include <algorithm>

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
  const bool rms = model.normalisation == Normalisation::Rms;
  LayerNorm norm{.rows = rows, .columns = columns, .part = Part::Forward};
  if (model.norm_kernels == NormKernels::Pytorch) {
    return call("vectorized_layer_norm_kernel", type, norm);
  }
  if (model.norm_kernels == NormKernels::Apex) {
    norm.instructions = 57;
    return call(rms ? "cuApplyRMSNorm" : "cuApplyLayerNorm", type, norm);
  }
  norm.fused = {.reads = 1, .writes = 1};
  norm.instructions = kPersistentForward;
  return call(rms ? "rms_norm_fwd_kernel" : "ln_fwd_kernel", type, norm);
}

std::array<KernelCall, 2> norm_backward_kernels(const TransformerSpec& model, DataType type,
                                                std::int64_t rows, std::int64_t columns) {
  const bool rms = model.normalisation == Normalisation::Rms;
  LayerNorm input{.rows = rows, .columns = columns, .part = Part::InputGradient};
  LayerNorm gain{.rows = rows, .columns = columns, .part = Part::ParameterGradient};
  if (model.norm_kernels == NormKernels::Pytorch) {
    return {call("layer_norm_grad_input_kernel", type, input),
            call("GammaBetaBackwardCUDAKernel", type, gain)};
  }
  if (model.norm_kernels == NormKernels::Apex) {
    input.instructions = 80;
    gain.instructions = 53;
    return {call("cuComputeGradInput", type, input), call("cuComputePartGradGammaBeta", type, gain)};
  }
  input.fused = {.reads = 2, .writes = 1};
  input.instructions = kPersistentBackward;
  gain.rows = std::min(rows, kResidentBlocks);
  gain.fused = {.reads = rms ? 1.0 : 2.0, .writes = 0};
  gain.instructions = 1;
  return {call(rms ? "rms_norm_bwd_kernel" : "ln_bwd_kernel", type, input),
          call(rms ? "rms_norm_bwd_finalize_kernel" : "ln_bwd_finalize_kernel", DataType::FP32, gain)};
}

}  // namespace lockstep
