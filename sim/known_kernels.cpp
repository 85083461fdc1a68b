#include "sim/known_kernels.hpp"

#include "sim/compiled_program.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostKept = 100'000;  // calls; of 25 tables each they take about 200 MB

}  // namespace

std::vector<KernelTiming> KnownKernels::times(const std::vector<KernelCall>& calls) {
  if (timings_.size() > kMostKept) {
    calls_ = {};
    timings_.clear();
  }
  std::vector<KernelTiming> times;
  times.reserve(calls.size());
  for (const KernelCall& call : calls) {
    const std::uint32_t number = calls_.intern(call);
    if (number == timings_.size()) {
      timings_.push_back(time_kernel(call, gpu_));
      ++predicted_;
    }
    times.push_back(timings_[number]);
  }
  asked_ += calls.size();
  return times;
}

}  // namespace lockstep
