#pragma once

#include <compare>
#include <map>
#include <span>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "scenario/prediction.hpp"
#include "search/plans/pipeline_time.hpp"
#include "search/plans/plan_candidate.hpp"
#include "search/plans/plan_space.hpp"
#include "sim/interference.hpp"

namespace lockstep {

/// What messages between the stages of plans take on one machine, by the functions that simulations ask: each
/// as CollectivePlanner plans it, with links shared among the ranks of a stage on one node, which send at
/// once; SMs as channel_limit() has them. Prices are kept. The setting must outlive it.
class StageMessages {
 public:
  explicit StageMessages(const ResolvedScenario& resolved);

  /// By stage: to the next one, of the last to the first. The way back is taken to be like the way there.
  [[nodiscard]] std::vector<PipelineMessage> of(const PlanCandidate& candidate,
                                                const PlanProblem& problem) const;

  /// Without effect where the scenario has none.
  [[nodiscard]] Interference interference() const;

 private:
  struct Layout {
    int gpus, stages;
    int stride;       ///< ranks from one stage to the next
    double bytes;     ///< of a message
    bool is_batched;  ///< CollectiveCall::batched
    int per_node;     ///< RankPlacement::per_node
    auto operator<=>(const Layout&) const = default;
  };
  [[nodiscard]] PipelineMessage between(const Layout& layout, int stage,
                                        std::span<const VertexId> gpus) const;

  const ResolvedScenario& resolved_;
  NodeSizes nodes_;
  CollectivePlanner planner_;
  mutable std::map<Layout, std::vector<PipelineMessage>> known_;
};

}  // namespace lockstep
