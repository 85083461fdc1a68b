#include "calibration/measure/host_copy.cuh"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "calibration/measure/kernels/element_types.cuh"

namespace lockstep {
namespace {

double allowed_error(const std::string& type) {
  if (type == "fp32") {
    return 2e-6;
  }
  return type == "bf16" ? 1e-2 : 2e-3;
}

}  // namespace

std::vector<double> on_host(const Memory& memory, const std::string& type, std::int64_t count) {
  std::vector<double> numbers;
  with_type(type == "tf32" ? "fp32" : type, [&]<class T>(T) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const auto raw = std::make_unique<unsigned char[]>(bytes);
    LOCKSTEP_CHECK(cudaMemcpy(raw.get(), memory.as<void>(), bytes, cudaMemcpyDeviceToHost));
    for (std::int64_t i = 0; i < count; ++i) {
      T x;
      std::memcpy(&x, raw.get() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      numbers.push_back(static_cast<double>(static_cast<float>(x)));
    }
  });
  return numbers;
}

void HostComparison::compare(const std::string& what, const std::string& type, const std::vector<double>& got,
                             const std::vector<double>& expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (got.at(i) - expected[i]) * (got.at(i) - expected[i]);
    size += expected[i] * expected[i];
  }
  const double error = std::sqrt(difference / size);
  const bool agrees = got.size() == expected.size() && error <= allowed_error(type);  // false for NaN
  all_agree_ = all_agree_ && agrees;
  tell_(fmt::format("{:<8} {:.1e}  {} {}", agrees ? "agrees" : "DIFFERS", error, what, type));
}

}  // namespace lockstep
