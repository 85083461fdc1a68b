#include "ops/collectives/direct.hpp"

#include "ops/collectives/exchange_sums.hpp"

namespace lockstep {

bool is_message(CollectiveKind kind) {
  return kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
}

bool writes_out_pairs(const GroupLayout& layout) {
  return layout.members() <= kMostWrittenOut;
}

double pair_share(const CollectiveRequest& request, int members, int s, int d) {
  if (!request.bytes.empty()) {
    const auto n = static_cast<std::size_t>(members);
    return request.bytes[static_cast<std::size_t>(s) * n + static_cast<std::size_t>(d)] /
           request.size.in_base_units();
  }
  return (request.kind == CollectiveKind::AllReduce ? 2.0 : 1.0) / members;
}

namespace {

std::string_view objection(const CollectiveRequest& request, const GroupLayout& layout) {
  if (is_message(request.kind)) {
    return {};
  }
  switch (request.kind) {
    case CollectiveKind::AllToAll:
      return {};
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
      return writes_out_pairs(layout) ? std::string_view{}
                                      : "direct writes out all pairs of these and stops at 1024 members; "
                                        "ring and hierarchical serve "
                                        "larger groups";
    default:
      return "direct serves all-to-all, all-gather, reduce-scatter, all-reduce, send and receive";
  }
}

std::vector<ChannelEdge> traffic(const CollectiveRequest& request, const GroupLayout& layout) {
  if (is_message(request.kind)) {
    return {{request.source, request.root, 1.0, 0}};
  }
  if (!writes_out_pairs(layout)) {
    return exchange_by_sums(request, layout, /*relayed=*/false);
  }
  const int n = layout.members();
  std::vector<ChannelEdge> result;
  result.reserve(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      if (s == d) {
        continue;
      }
      if (const double share = pair_share(request, n, s, d); share > 0) {
        result.push_back({s, d, share, 0});
      }
    }
  }
  return result;
}

/// One message for each pair; which piece travels, and what the receiver does with it.
CommStep all_pairs(const CollectiveRequest& request, int n, CollectiveKind pass) {
  CommStep step;
  const double passes = request.kind == CollectiveKind::AllReduce ? 2 : 1;
  for (int s = 0; s < n; ++s) {
    for (int d = 0; d < n; ++d) {
      const double share = s == d ? 0 : pair_share(request, n, s, d) / passes;
      if (!(share > 0)) {
        continue;
      }
      const int chunk = pass == CollectiveKind::AllToAll    ? s * n + d
                        : pass == CollectiveKind::AllGather ? s
                                                            : d;
      step.push_back({s, d, chunk, share * request.size, pass == CollectiveKind::ReduceScatter});
    }
  }
  return step;
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  const int n = layout.members();
  if (is_message(request.kind)) {
    return {1, {{{request.source, request.root, 0, request.size, false}}}};
  }
  if (request.kind == CollectiveKind::AllReduce) {
    return {n,
            {all_pairs(request, n, CollectiveKind::ReduceScatter),
             all_pairs(request, n, CollectiveKind::AllGather)}};
  }
  return {request.kind == CollectiveKind::AllToAll ? n * n : n, {all_pairs(request, n, request.kind)}};
}

/// A step waits for the slowest of its messages: one that leaves the node when there is one.
StepCount steps(const CollectiveRequest& request, const GroupLayout& layout) {
  const int count = request.kind == CollectiveKind::AllReduce ? 2 : 1;
  bool leaves = layout.nodes.size() > 1;
  if (is_message(request.kind)) {
    leaves = layout.node_of[static_cast<std::size_t>(request.source)] !=
             layout.node_of[static_cast<std::size_t>(request.root)];
  }
  return leaves ? StepCount{0, count} : StepCount{count, 0};
}

}  // namespace

const CommAlgorithmRow kDirect{CommAlgorithm::Direct, "direct", objection, traffic, schedule, steps};

}  // namespace lockstep
