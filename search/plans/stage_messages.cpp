#include "search/plans/stage_messages.hpp"

#include <algorithm>
#include <array>

#include "ops/collectives/channels.hpp"
#include "ops/workload/precision.hpp"

namespace lockstep {
namespace {

/// Bytes of what one rank sends to the next stage.
Bytes message_of(const PlanCandidate& candidate, const PlanProblem& problem, Precision precision) {
  const TransformerPlanSpec& plan = candidate.plan;
  const double tokens = static_cast<double>(candidate.micro_batch * problem.model.sequence) / plan.context /
                        (plan.sequence_parallel || plan.shares_messages() ? plan.tensor : 1);
  return tokens * static_cast<double>(problem.model.hidden) * (is_mixed(precision) ? 2.0 : 4.0) * Bytes{1};
}

}  // namespace

StageMessages::StageMessages(const ResolvedScenario& resolved)
    : resolved_{resolved},
      nodes_{node_sizes(resolved.fabric)},
      planner_{resolved.fabric, collective_options(resolved)} {}

std::vector<PipelineMessage> StageMessages::of(const PlanCandidate& candidate,
                                               const PlanProblem& problem) const {
  const int stages = candidate.plan.pipeline;
  const Bytes size = message_of(candidate, problem, resolved_.scenario.workload->precision);
  const bool overlaps =
      candidate.plan.schedule == PipelineSchedule::Interleaved && candidate.plan.overlap_p2p;
  ParallelismSpec parallelism;
  parallelism.ranks = candidate.gpus;
  parallelism.ranks_per_node = resolved_.scenario.parallelism.ranks_per_node;
  parallelism.transformer = candidate.plan;
  const RankPlacement placement = place_ranks(parallelism, nodes_);
  const Layout layout{candidate.gpus,       stages,    stage_stride(candidate),
                      size.in_base_units(), !overlaps, placement.per_node};
  const auto [known, fresh] = known_.try_emplace(layout);
  if (fresh) {
    const std::vector<VertexId> gpus = gpus_by_rank(placement, resolved_.fabric);
    for (int stage = 0; stage < stages; ++stage) {
      known->second.push_back(between(layout, stage, gpus));
    }
  }
  return known->second;
}

PipelineMessage StageMessages::between(const Layout& layout, int stage,
                                       std::span<const VertexId> gpus) const {
  const int next = (stage + 1) % layout.stages;
  const auto gpu = [&](int rank) { return gpus[static_cast<std::size_t>(rank)]; };
  const auto node = [&](int rank) { return resolved_.fabric.vertices()[gpu(rank)].node; };
  const auto pair_of = [&](int rank) {
    return std::array{gpu(rank), gpu(rank + (next - stage) * layout.stride)};
  };
  const DataType type = storage_type(resolved_.scenario.workload->precision);
  const int first = stage * layout.stride;
  MessageCarrier carrier;
  if (layout.is_batched) {
    std::vector<VertexId> group;
    for (int other = 0; other < layout.stages; ++other) {
      group.push_back(gpu(first + (other - stage) * layout.stride));
    }
    carrier = carrier_of(resolved_.fabric, group);
  }
  std::vector<CollectivePlan> plans;
  std::map<LinkId, double> loads;
  for (int rank = first; rank < layout.gpus && node(rank) == node(first); ++rank) {
    if (rank / layout.stride % layout.stages == stage) {
      plans.push_back(planner_.plan({CollectiveKind::Send, type, Bytes{layout.bytes}, 1, 0, {}, {}, carrier},
                                    pair_of(rank)));
      for (const LinkLoad& load : plans.back().loads) {
        loads[load.link] += load.share;
      }
    }
  }
  PipelineMessage message;
  message.sms = interference().held(channel_limit(resolved_.fabric, pair_of(first)), plans.front().channels);
  for (CollectivePlan& plan : plans) {
    for (LinkLoad& load : plan.loads) {
      load.share = loads.at(load.link);
    }
    message.seconds = std::max(message.seconds, time_alone(plan, resolved_.fabric).in_base_units());
  }
  return message;
}

Interference StageMessages::interference() const {
  if (!resolved_.scenario.interferes()) {
    return {};
  }
  const GpuSpec& gpu = resolved_.gpu_models.front();
  return {gpu.sm_count, gpu.communication.sm_count, gpu.communication.memory_bandwidth};
}

}  // namespace lockstep
