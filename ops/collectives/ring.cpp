#include "ops/collectives/ring.hpp"

namespace lockstep {
namespace {

/// A ring with its closed-form neighbours.
class Circle {
 public:
  explicit Circle(const std::vector<int>& order) : order_{order} {}

  [[nodiscard]] int size() const { return static_cast<int>(order_.size()); }
  /// The member at place i, counted round and round (also backwards).
  [[nodiscard]] int at(int i) const {
    const int n = size();
    return order_[static_cast<std::size_t>(((i % n) + n) % n)];
  }
  [[nodiscard]] int place_of(int member) const {
    int place = 0;
    while (at(place) != member) {
      ++place;
    }
    return place;
  }

 private:
  const std::vector<int>& order_;
};

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
}

std::string_view objection(const CollectiveRequest& request, const GroupLayout&) {
  switch (request.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
      return {};
    default:
      return "a ring serves all-reduce, reduce-scatter, all-gather, broadcast and reduce";
  }
}

/// The amount that crosses each edge, in buffers.
double edge_share(CollectiveKind kind, int members) {
  if (is_rooted(kind)) {
    return 1;
  }
  const double pass = static_cast<double>(members - 1) / members;
  return kind == CollectiveKind::AllReduce ? 2 * pass : pass;
}

std::vector<ChannelEdge> traffic(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  const int edges = is_rooted(request.kind) ? n - 1 : n;
  const double share = edge_share(request.kind, n) / layout.channels();
  std::vector<ChannelEdge> result;
  if (n == 1) {
    return result;
  }
  result.reserve(static_cast<std::size_t>(edges) * layout.rings.size());
  for (std::uint32_t channel = 0; channel < layout.rings.size(); ++channel) {
    const Circle ring{layout.rings[channel]};
    // A pipeline starts behind the edge that stays empty: out of the root, or into it.
    const int root = is_rooted(request.kind) ? ring.place_of(request.root) : 0;
    const int first = request.kind == CollectiveKind::Reduce ? root + 1 : root;
    for (int i = first; i < first + edges; ++i) {
      result.push_back({ring.at(i), ring.at(i + 1), share, channel});
    }
  }
  return result;
}

/// Every member passes one chunk on. @p owner_offset says whose: that of the member so many places away.
void append_pass(CommStep& step, const Circle& ring, int owner_offset, int channel, int channels, Bytes size,
                 bool reduce) {
  for (int i = 0; i < ring.size(); ++i) {
    step.push_back(
        {ring.at(i), ring.at(i + 1), ring.at(i + owner_offset) * channels + channel, size, reduce});
  }
}

void append_steps(std::vector<CommStep>& steps, const CollectiveRequest& request, const Circle& ring,
                  int channel, int channels) {
  const int n = ring.size();
  if (is_rooted(request.kind)) {
    const bool reduce = request.kind == CollectiveKind::Reduce;
    const int first = ring.place_of(request.root) + (reduce ? 1 : 0);
    for (int s = 0; s < n - 1; ++s) {
      steps[static_cast<std::size_t>(s)].push_back(
          {ring.at(first + s), ring.at(first + s + 1), channel, request.size / channels, reduce});
    }
    return;
  }
  const Bytes chunk = request.size / (static_cast<double>(n) * channels);
  std::size_t next = 0;
  if (request.kind != CollectiveKind::AllGather) {  // chunk j starts behind its owner and comes home to it
    for (int s = 0; s < n - 1; ++s) {
      append_pass(steps[next++], ring, -1 - s, channel, channels, chunk, /*reduce=*/true);
    }
  }
  if (request.kind != CollectiveKind::ReduceScatter) {  // chunk j leaves its owner and visits all others
    for (int s = 0; s < n - 1; ++s) {
      append_pass(steps[next++], ring, -s, channel, channels, chunk, /*reduce=*/false);
    }
  }
}

int step_count(CollectiveKind kind, int members) {
  return kind == CollectiveKind::AllReduce ? 2 * (members - 1) : members - 1;
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  const int channels = layout.channels();
  CommSchedule result;
  result.chunks = is_rooted(request.kind) ? channels : n * channels;
  result.steps.resize(static_cast<std::size_t>(step_count(request.kind, n)));
  for (int channel = 0; channel < channels; ++channel) {
    append_steps(result.steps, request, Circle{layout.rings[static_cast<std::size_t>(channel)]}, channel,
                 channels);
  }
  return result;
}

/// A pass over k nodes of several members takes some chunk over all k edges between nodes (NCCL's tuning.cc
/// counts k - 1, the model of AWS's plugin k: nccl_ofi_model.cpp, num_internode_steps). 2(n-1) chunks cross
/// each link, but a member works on 2n-1: the last one (`recv`) only moves from the buffer to its place
/// (all_reduce.h).
StepCount steps(const CollectiveRequest& request, const GroupLayout& layout) {
  const int all = step_count(request.kind, layout.members());
  const auto nodes = static_cast<int>(layout.nodes.size());
  const bool crosses_all = nodes > 1 && nodes < layout.members() && !is_rooted(request.kind);
  const int between = crosses_all ? step_count(request.kind, nodes + 1) : step_count(request.kind, nodes);
  const double last = is_rooted(request.kind) ? 0 : 1.0 / layout.members();
  return {all - between, between, last};
}

}  // namespace

const CommAlgorithmRow kRing{CommAlgorithm::Ring, "ring", objection, traffic, schedule, steps};

}  // namespace lockstep
