#include "ops/workload/layers/batch_norm.hpp"

#include <algorithm>
#include <vector>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

// Instructions of a thread for an element.
constexpr double kStatistics = 72, kTransform = 33, kReduction = 38, kGradient = 43;
constexpr double kTransformOfPlanes = 50;
constexpr double kLifeOfAThread = 195;  // likewise of a thread, however few elements it has

bool is_own(DataType type) {
  return type == DataType::BF16;
}

KernelCall by_channel(const char* name, const ImageShape& of, DataType type, bool channels_first,
                      Direction direction) {
  return {name, type,
          BatchNorm{.batch = of.batch,
                    .channels = of.channels,
                    .pixels = of.pixels(),
                    .direction = direction,
                    .own = is_own(type),
                    .channels_last = !channels_first}};
}

KernelCall over_elements(const char* what, const ImageShape& of, DataType type, double reads, double writes,
                         double instructions) {
  KernelCall call =
      kernels::elementwise(what, of.elements(), type,
                           {.reads = reads, .writes = writes, .flops = 0, .instructions = instructions});
  call.name = what;
  return call;
}

/// getNumThreads() of aten/src/ATen/native/cuda/Normalization.cuh.
std::int64_t block_for(std::int64_t elements) {
  std::int64_t threads = 32;
  while (threads < 512 && threads < elements) threads *= 2;
  return threads;
}

/// Threads that batch_norm_transform_input_kernel is launched with (batch_norm_elemt_cuda_template()): each
/// block has a channel and one or several images.
double threads_of_transform(const ImageShape& of) {
  constexpr std::int64_t kMostThreads = 64, kBlocks = 262'144;
  const std::int64_t along =
      std::max(block_for(of.pixels() / 4), std::min(block_for(of.pixels()), kMostThreads));
  const std::int64_t images = std::max<std::int64_t>(1, kMostThreads / along);
  const std::int64_t blocks = std::clamp<std::int64_t>((of.batch + images - 1) / images, 1,
                                                       std::max<std::int64_t>(1, kBlocks / of.channels));
  return static_cast<double>(of.channels * blocks * along * images);
}

std::vector<KernelCall> own_forward(const ImageShape& of, DataType type, bool channels_first) {
  const KernelCall running = kernels::elementwise("batch_norm_update_stats_and_invert", of.channels,
                                                  DataType::FP32, {.reads = 4, .writes = 3});
  if (!channels_first) {
    return {over_elements("batch_norm_collect_statistics_channels_last_kernel", of, type, 1, 0, kStatistics),
            running,
            over_elements("batch_norm_transform_input_channels_last_kernel", of, type, 1, 1, kTransform)};
  }
  const double life = kLifeOfAThread * threads_of_transform(of) / static_cast<double>(of.elements());
  return {
      by_channel("batch_norm_collect_statistics_kernel", of, type, true, Direction::Forward), running,
      over_elements("batch_norm_transform_input_kernel", of, type, 1, 1, std::max(kTransformOfPlanes, life))};
}

std::vector<KernelCall> own_backward(const ImageShape& of, DataType type, bool channels_first) {
  if (channels_first) {
    return {by_channel("batch_norm_backward_kernel", of, type, true, Direction::Backward)};
  }
  return {over_elements("batch_norm_backward_reduce_channels_last_kernel", of, type, 2, 0, kReduction),
          over_elements("batch_norm_backward_elemt_channels_last_kernel", of, type, 2, 1, kGradient)};
}

/// Type of activations in memory: products may be TF32.
DataType type_of(const StepWriter& step) {
  return storage_type(step.precision());
}

void launch(StepWriter& step, const char* name, const std::vector<KernelCall>& kernels) {
  step.program().begin(name);
  for (const KernelCall& kernel : kernels) {
    step.launch(kernel);
  }
  step.program().end();
}

}  // namespace

namespace kernels {

std::vector<KernelCall> batch_norm(const ImageShape& of, DataType type, bool channels_first,
                                   Direction direction) {
  const bool forward = direction == Direction::Forward;
  if (is_own(type)) {
    return forward ? own_forward(of, type, channels_first) : own_backward(of, type, channels_first);
  }
  return {by_channel(forward ? "bn_fw_tr" : "bn_bw", of, type, channels_first, direction)};
}

}  // namespace kernels

void batch_norm_forward(StepWriter& step, const ImageShape& of, bool channels_first) {
  launch(step, "aten::batch_norm",
         kernels::batch_norm(of, type_of(step), channels_first, Direction::Forward));
}

void batch_norm_backward(StepWriter& step, const ImageShape& of, bool channels_first) {
  const DataType type = type_of(step);
  launch(step, is_own(type) ? "NativeBatchNormBackward0" : "CudnnBatchNormBackward0",
         kernels::batch_norm(of, type, channels_first, Direction::Backward));
}

}  // namespace lockstep
