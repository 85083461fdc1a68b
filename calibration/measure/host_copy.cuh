#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/measure/gpu.cuh"

namespace lockstep {

/// The first @p count numbers of a type (fp32, tf32, fp16, bf16), on the host.
[[nodiscard]] std::vector<double> on_host(const Memory& memory, const std::string& type, std::int64_t count);

/// Tells relative errors, and remembers whether one was too large.
class HostComparison {
 public:
  explicit HostComparison(std::function<void(const std::string&)> tell) : tell_{std::move(tell)} {}

  /// ||got - expected|| / ||expected||, which @p type of the results allows to be 2e-6 (fp32), 2e-3 (tf32,
  /// fp16) or 1e-2 (bf16).
  void compare(const std::string& what, const std::string& type, const std::vector<double>& got,
               const std::vector<double>& expected);

  [[nodiscard]] bool all_agree() const { return all_agree_; }

 private:
  std::function<void(const std::string&)> tell_;
  bool all_agree_ = true;
};

}  // namespace lockstep
