#include "ops/gpu/learned_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kNoticed = 1e-3;  // less is less than what is told of them

double number(int count) {
  return count;
}

template <class Unit>
double number(Unit quantity) {
  return quantity.in_base_units();
}

}  // namespace

LearnedScale scale_of(const GpuSpec& gpu) {
  return {gpu.sm_count, gpu.peak, gpu.memory_bandwidth, gpu.l2_size, gpu.kernel_minimum};
}

std::string differences(const LearnedScale& fitted, const LearnedScale& now) {
  std::string text;
  const auto compare = [&text](const char* key, const auto& before, const auto& after) {
    const double was = number(before), is = number(after);
    if (std::abs(was - is) > kNoticed * std::max(was, is)) {
      text += fmt::format("{}{} {}, now {}", text.empty() ? "" : "; ", key, before, after);
    }
  };
  compare("sm_count", fitted.sm_count, now.sm_count);
  compare("peak.fp32", fitted.peak.fp32, now.peak.fp32);
  compare("peak.tf32", fitted.peak.tf32, now.peak.tf32);
  compare("peak.fp16", fitted.peak.fp16, now.peak.fp16);
  compare("peak.bf16", fitted.peak.bf16, now.peak.bf16);
  compare("peak.fp8", fitted.peak.fp8, now.peak.fp8);
  compare("memory_bandwidth", fitted.memory_bandwidth, now.memory_bandwidth);
  compare("l2", fitted.l2_size, now.l2_size);
  compare("kernel_minimum", fitted.kernel_minimum, now.kernel_minimum);
  return text;
}

}  // namespace lockstep
