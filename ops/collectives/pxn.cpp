#include "ops/collectives/pxn.hpp"

#include "ops/collectives/direct.hpp"
#include "ops/collectives/exchange_sums.hpp"

namespace lockstep {
namespace {

/// A message between two members.
struct Message {
  int src = 0;
  int dst = 0;
  double share = 0;  ///< of the request's size
  int chunk = 0;
};

std::string_view objection(const CollectiveRequest& request, const GroupLayout&) {
  return is_message(request.kind) || request.kind == CollectiveKind::AllToAll
             ? std::string_view{}
             : "pxn serves all-to-all, send and receive";
}

std::vector<Message> messages(const CollectiveRequest& request, const GroupLayout& layout) {
  if (is_message(request.kind)) {
    return {{request.source, request.root, 1, 0}};
  }
  const int n = layout.members();
  std::vector<Message> result;
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      if (const double share = s == d ? 0 : pair_share(request, n, s, d); share > 0) {
        result.push_back({s, d, share, s * n + d});
      }
    }
  }
  return result;
}

std::vector<ChannelEdge> traffic(const CollectiveRequest& request, const GroupLayout& layout) {
  if (!is_message(request.kind) && !writes_out_pairs(layout)) {
    return exchange_by_sums(request, layout, /*relayed=*/true);
  }
  const auto n = static_cast<std::size_t>(layout.members());
  std::vector<double> share(n * n, 0.0);
  const auto carry = [&](int from, int to, double bytes) {
    if (from != to) {
      share[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)] += bytes;
    }
  };
  for (const Message& message : messages(request, layout)) {
    const int relay = layout.relay_of(message.src, message.dst);
    carry(message.src, relay, message.share);
    carry(relay, message.dst, message.share);
  }
  std::vector<ChannelEdge> result;
  for (std::size_t pair = 0; pair < share.size(); ++pair) {
    if (share[pair] > 0) {
      result.push_back({static_cast<int>(pair / n), static_cast<int>(pair % n), share[pair], 0});
    }
  }
  return result;
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  CommSchedule result{is_message(request.kind) ? 1 : n * n, std::vector<CommStep>(2)};
  for (const Message& message : messages(request, layout)) {
    const Bytes size = message.share * request.size;
    const int relay = layout.relay_of(message.src, message.dst);
    if (relay != message.src) {
      result.steps[0].push_back({message.src, relay, message.chunk, size, false});
    }
    result.steps[1].push_back({relay, message.dst, message.chunk, size, false});
  }
  return result;
}

StepCount steps(const CollectiveRequest& request, const GroupLayout& layout) {
  if (is_message(request.kind)) {
    const bool leaves = layout.node_of[static_cast<std::size_t>(request.source)] !=
                        layout.node_of[static_cast<std::size_t>(request.root)];
    const bool relayed = layout.relay_of(request.source, request.root) != request.source;
    return {relayed || !leaves ? 1 : 0, leaves ? 1 : 0};
  }
  const bool shares_nodes = layout.nodes.size() < layout.node_of.size();
  return {shares_nodes ? 1 : 0, layout.nodes.size() > 1 ? 1 : 0};
}

}  // namespace

const CommAlgorithmRow kPxn{CommAlgorithm::Pxn, "pxn", objection, traffic, schedule, steps};

}  // namespace lockstep
