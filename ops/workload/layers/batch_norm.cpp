#include "ops/workload/layers/batch_norm.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

// Instructions of a thread for an element.
constexpr double kStatistics = 72, kTransform = 33, kReduction = 38, kGradient = 43;
constexpr double kTransformOfPlanes = 50;

/// Of activations in memory: products may be TF32.
DataType type_of(const StepWriter& step) {
  return storage_type(step.precision());
}

bool is_own(const StepWriter& step) {
  return type_of(step) == DataType::BF16;
}

/// Channels last, the pixels of all images are rows of one matrix.
KernelCall by_channel(const char* name, const StepWriter& step, const ImageShape& of, bool channels_first,
                      Direction direction) {
  const std::int64_t images = channels_first ? of.batch : 1;
  return {name, type_of(step),
          BatchNorm{.batch = images,
                    .channels = of.channels,
                    .pixels = of.batch * of.pixels() / images,
                    .direction = direction,
                    .own = is_own(step)}};
}

KernelCall over_elements(const char* what, const StepWriter& step, const ImageShape& of, double reads,
                         double writes, double instructions) {
  KernelCall call =
      kernels::elementwise(what, of.elements(), type_of(step),
                           {.reads = reads, .writes = writes, .flops = 0, .instructions = instructions});
  call.name = what;
  return call;
}

}  // namespace

void batch_norm_forward(StepWriter& step, const ImageShape& of, bool channels_first) {
  if (!is_own(step)) {
    step.op("aten::batch_norm", {by_channel("bn_fw_tr", step, of, channels_first, Direction::Forward)});
    return;
  }
  const KernelCall statistics =
      channels_first
          ? by_channel("batch_norm_collect_statistics_kernel", step, of, true, Direction::Forward)
          : over_elements("batch_norm_collect_statistics_channels_last_kernel", step, of, 1, 0, kStatistics);
  const KernelCall running = kernels::elementwise("batch_norm_update_stats_and_invert", of.channels,
                                                  DataType::FP32, {.reads = 4, .writes = 3});
  step.op("aten::batch_norm",
          {statistics, running,
           over_elements(channels_first ? "batch_norm_transform_input_kernel"
                                        : "batch_norm_transform_input_channels_last_kernel",
                         step, of, 1, 1, channels_first ? kTransformOfPlanes : kTransform)});
}

void batch_norm_backward(StepWriter& step, const ImageShape& of, bool channels_first) {
  if (!is_own(step)) {
    step.op("CudnnBatchNormBackward0", {by_channel("bn_bw", step, of, channels_first, Direction::Backward)});
  } else if (channels_first) {
    step.op("NativeBatchNormBackward0",
            {by_channel("batch_norm_backward_kernel", step, of, true, Direction::Backward)});
  } else {
    step.op("NativeBatchNormBackward0",
            {over_elements("batch_norm_backward_reduce_channels_last_kernel", step, of, 2, 0, kReduction),
             over_elements("batch_norm_backward_elemt_channels_last_kernel", step, of, 2, 1, kGradient)});
  }
}

}  // namespace lockstep
