#include "ops/collectives/nvls.hpp"

#include <stdexcept>

namespace lockstep {
namespace {

std::string_view objection(const CollectiveRequest& request, const GroupLayout& layout) {
  if (request.kind != CollectiveKind::AllReduce) {
    return "nvls serves all-reduce only";
  }
  if (layout.nodes.size() > 1 || !layout.switched) {
    return "nvls needs all members behind the NVSwitches of one node";
  }
  return {};
}

std::vector<ChannelEdge> traffic(const CollectiveRequest&, const GroupLayout& layout) {
  const int n = layout.members();
  std::vector<ChannelEdge> result;
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      if (s != d) {
        result.push_back({s, d, (1.0 + 1.0 / n) / (n - 1), 0});
      }
    }
  }
  return result;
}

CommSchedule schedule(const CollectiveRequest&, const GroupLayout&) {
  throw std::invalid_argument("nvls: the switch adds and copies; there are no messages between members");
}

StepCount steps(const CollectiveRequest&, const GroupLayout& layout) {
  return {layout.members() > 1 ? 1 : 0, 0};
}

}  // namespace

const CommAlgorithmRow kNvls{CommAlgorithm::Nvls, "nvls", objection, traffic, schedule, steps};

}  // namespace lockstep
