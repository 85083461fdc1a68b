#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep::comparison {

/// A call on a host thread.
struct LaunchCall {
  std::int64_t start = 0;
  std::optional<std::uint32_t> launcher;  ///< number of the innermost operator's name; none around it: none
};

/// Host threads of a timeline: which operator each launch was made in. By time, because ids that say so
/// differ from vintage to vintage of PyTorch's profiler, and some repeat the launch's own; but of several
/// operators that take no time, as in a CUDA graph, the one whose id the launch has.
class LaunchingOperators {
 public:
  struct Operator {
    std::int64_t start = 0, end = 0, external_id = -1;  ///< <= 0: none
    std::uint32_t name = 0;                             ///< its number
  };
  struct Launch {
    std::int64_t start = 0, correlation = 0, external_id = -1;
  };
  void add_operator(std::int64_t pid, const std::string& tid, const Operator& op) {
    threads_[{pid, tid}].operators.push_back(op);
  }
  void add_launch(std::int64_t pid, const std::string& tid, const Launch& launch) {
    threads_[{pid, tid}].launches.push_back(launch);
  }

  /// @param processes whose threads count; empty: all
  [[nodiscard]] std::unordered_map<std::int64_t, LaunchCall> by_correlation(
      const std::set<std::int64_t>& processes) &&;

 private:
  struct Thread {
    std::vector<Operator> operators;
    std::vector<Launch> launches;
  };
  std::map<std::pair<std::int64_t, std::string>, Thread> threads_;
};

}  // namespace lockstep::comparison
