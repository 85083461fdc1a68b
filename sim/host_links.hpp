#pragma once

#include <optional>
#include <vector>

#include "ops/kernels/host_traffic.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

class Executor;

/// The links between GPUs and the memory of their hosts, after a run.
class HostLinks {
 public:
  explicit HostLinks(const Executor& executor) : executor_{executor} {}

  /// The link that bounded a copy, or a kernel that reads or writes host memory, of @p gpu. It is the one on
  /// its way that was used most in the whole run.
  /// @param alone what its model says, s
  /// @param took how long it took, s
  /// @return none when its own pace bounded it: alone it leaves much of its links, and others did not slow it
  [[nodiscard]] std::optional<LinkId> bounding(VertexId gpu, const HostTraffic& traffic, double alone,
                                               double took);

 private:
  [[nodiscard]] double use_of(LinkId link);

  const Executor& executor_;
  std::vector<double> use_;  // by link: seconds at its bandwidth; made when first asked for
};

}  // namespace lockstep
