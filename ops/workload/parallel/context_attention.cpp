#include "ops/workload/parallel/context_attention.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// Keys and values of one rank.
Bytes keys_and_values(const LayerScope& scope) {
  return scope.bytes(scope.sizes.tokens * 2 * scope.sizes.kv_width());
}

/// Each step of the ring attends to one rank's keys while the next ones arrive. A rank has two pieces of the
/// sequence, from its ends inwards: under a causal mask the first step has that mask, each further one sees
/// half of the keys with all queries, or all of them with half of the queries (Transformer Engine,
/// context_parallel.py), here the first. Backward sends the gradients of keys and values on as well.
void ring_attention(const LayerScope& scope, FlashAttention work, const Attend& attend) {
  const int ranks = scope.plan.spec.context;
  const double tensors = work.direction == Direction::Forward ? 1 : 2;
  work.keys /= ranks;
  for (int turn = 0; turn < ranks; ++turn) {
    std::vector<EventId> transfers;
    if (turn + 1 < ranks) {
      transfers = shift_round(scope, keys_and_values(scope) * tensors);
    }
    attend(work);
    if (work.causal) {
      work.causal = false;
      work.keys = std::max<std::int64_t>(1, work.keys / 2);
    }
    for (const EventId end : transfers) {
      scope.step.wait_for(end);
    }
  }
}

}  // namespace

std::vector<EventId> shift_round(const LayerScope& scope, Bytes size) {
  const auto ranks = static_cast<std::size_t>(scope.plan.spec.context);
  const auto call = [&](CollectiveKind kind, std::size_t distance) {
    return [=, &scope](std::size_t rank) {
      return CollectiveCall{.kind = kind,
                            .type = scope.storage(),
                            .size = size,
                            .send_bytes = {},
                            .peer = static_cast<int>((rank + distance) % ranks)};
    };
  };
  scope.step.program().begin("send_recv");
  std::vector<EventId> ends{
      scope.step.communicate_by_rank("cp", "nccl cp send", call(CollectiveKind::Send, 1)),
      scope.step.communicate_by_rank("cp", "nccl cp receive", call(CollectiveKind::Receive, ranks - 1))};
  scope.step.program().end();
  return ends;
}

void context_attention(const LayerScope& scope, FlashAttention work, const Attend& attend) {
  const int ranks = scope.plan.spec.context;
  if (ranks > 1 && scope.plan.spec.context_attention == ContextAttention::Ring) {
    ring_attention(scope, work, attend);
    return;
  }
  const Bytes all = keys_and_values(scope) * static_cast<double>(ranks);
  scope.communicate(CollectiveKind::AllGather, "cp", ranks, all);
  attend(work);
  if (work.direction == Direction::Backward) {
    scope.communicate(CollectiveKind::ReduceScatter, "cp", ranks, all);
  }
}

}  // namespace lockstep
