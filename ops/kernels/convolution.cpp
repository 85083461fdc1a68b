#include "ops/kernels/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/core_convolution.hpp"
#include "ops/kernels/gemm.hpp"
#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/tensor_convolution.hpp"
#include "ops/kernels/traffic.hpp"
#include "ops/kernels/winograd.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

void check(const Convolution& of) {
  const std::int64_t least =
      std::min({of.batch, of.in_channels, of.out_channels, of.height, of.width, of.filter_height,
                of.filter_width, of.stride, of.padding_height + 1, of.padding_width + 1});
  if (least < 1 || of.out_height() < 1 || of.out_width() < 1) {
    throw std::invalid_argument{fmt::format(
        "a convolution of {} x [{} x {} x {}] with [{} x {} x {} x {}], stride {}", of.batch, of.in_channels,
        of.height, of.width, of.out_channels, of.in_channels, of.filter_height, of.filter_width, of.stride)};
  }
}

double rate_of(const Convolution& of, const ConvolutionProfile& profile) {
  const ConvolutionRates& rates = of.tuned ? profile.tuned : profile.guessed;
  switch (of.pass) {
    case Pass::Forward:
      return of.filter_height * of.filter_width == 1 ? rates.one_by_one : 1;
    case Pass::DataGradient:
      return of.stride > 1 ? profile.guessed.data_gradient : rates.data_gradient;
    case Pass::WeightGradient:
      return rates.weight_gradient;
  }
  return 1;
}

/// TF32 gathers four channels at a time. Images of other numbers of them, a network's first, go forward on
/// FP32's cores.
DataType units_of(const Convolution& of, DataType type) {
  const bool is_odd = of.channels_first && of.pass == Pass::Forward && of.in_channels % 4 != 0;
  return type == DataType::TF32 && is_odd ? DataType::FP32 : type;
}

/// The default where no kernels of the GPU were seen: the rate of products of the type. TF32's leave NCHW
/// themselves (..._nhwckrsc_nchw).
TensorConvolutionProfile unseen(DataType type) {
  TensorConvolutionProfile profile;
  profile.writes_images = type == DataType::TF32;
  return profile;
}

}  // namespace

std::string ConvolutionModel::name() const {
  return "convolution: implicit product or Winograd";
}

Prediction ConvolutionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& of = std::get<Convolution>(call.work);
  check(of);
  const ConvolutionProfile& profile = gpu.efficiency->convolution;
  const auto& seen =
      call.type == DataType::TF32 ? gpu.efficiency->tf32_convolution : gpu.efficiency->tensor_convolution;
  const DataType type = seen ? call.type : units_of(of, call.type);
  if (uses_tensor_cores(gpu, type)) {
    const TensorConvolutionProfile by = seen.value_or(unseen(type));
    return make_prediction(time_of_tensor_convolution(of, by, gpu, type), seen ? 0.15 : 0.2, by.calibrated);
  }
  if (const auto& core = gpu.efficiency->core_convolution; core && type == DataType::FP32) {
    const Seconds time = time_of_core_convolution(of, *core, gpu);
    return make_prediction(of.channels_first ? time : time + time_of_layout_copies(of, {}, gpu, type), 0.2,
                           core->calibrated);
  }
  Seconds best = implicit_time(of, profile.implicit, rate_of(of, profile), gpu, type);
  if (of.filter_height == 3 && of.filter_width == 3 && of.stride == 1) {
    const int split = of.pass == Pass::WeightGradient ? profile.implicit.largest_split : 1;
    best = std::min(best, unfused_winograd_time(of, split, gpu));
    if (of.pass != Pass::WeightGradient) best = std::min(best, fused_winograd_time(of, gpu));
  }
  if (!of.channels_first) best += time_of_layout_copies(of, {}, gpu, type);
  return make_prediction(best, 0.2, profile.calibrated);
}

}  // namespace lockstep
