#include "ops/collectives/pat.hpp"

#include <bit>

namespace lockstep {
namespace {

/// Distances between sender and receiver of an all-gather, in the order of its steps: 2^(levels-1), ..., 1.
std::vector<int> distances(int members) {
  std::vector<int> result;
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(members))) / 2; distance > 0;
       distance /= 2) {
    result.push_back(distance);
  }
  return result;
}

std::string_view objection(const CollectiveRequest& request, const GroupLayout&) {
  return request.kind == CollectiveKind::AllGather || request.kind == CollectiveKind::ReduceScatter
             ? std::string_view{}
             : "pat serves all-gather and reduce-scatter";
}

/// Pieces that a member passes on over @p distance: offsets o = 0, 2 D, 4 D, ... with o + D < n.
int pieces(int members, int distance) {
  return (members - distance + 2 * distance - 1) / (2 * distance);
}

std::vector<ChannelEdge> traffic(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  const bool gathers = request.kind == CollectiveKind::AllGather;
  std::vector<ChannelEdge> result;
  for (const int distance : distances(n)) {
    const double share = static_cast<double>(pieces(n, distance)) / n;
    for (int member = 0; member < n; ++member) {
      const int other = (member + distance) % n;
      result.push_back({gathers ? member : other, gathers ? other : member, share, 0});
    }
  }
  return result;
}

CommStep step_of(const CollectiveRequest& request, int n, int distance) {
  const bool gathers = request.kind == CollectiveKind::AllGather;
  CommStep step;
  for (int owner = 0; owner < n; ++owner) {
    for (int offset = 0; offset + distance < n; offset += 2 * distance) {
      const int near = (owner + offset) % n;
      const int far = (near + distance) % n;
      step.push_back({gathers ? near : far, gathers ? far : near, owner, request.size / n, !gathers});
    }
  }
  return step;
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  CommSchedule result{n, {}};
  for (const int distance : distances(n)) {
    const auto place = request.kind == CollectiveKind::AllGather ? result.steps.end() : result.steps.begin();
    result.steps.insert(place, step_of(request, n, distance));
  }
  return result;
}

StepCount steps(const CollectiveRequest&, const GroupLayout& layout) {
  const int n = layout.members();
  const int levels = static_cast<int>(distances(n).size());
  return layout.nodes.size() > 1 ? StepCount{n, levels} : StepCount{n + levels, 0};
}

}  // namespace

const CommAlgorithmRow kPat{CommAlgorithm::Pat, "pat", objection, traffic, schedule, steps};

}  // namespace lockstep
