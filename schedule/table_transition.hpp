#pragma once

#include "scenario/prediction.hpp"
#include "schedule/transition_work.hpp"

namespace lockstep {

/// The places of a DLRM's tables, as they are given or as the planner puts them.
[[nodiscard]] EmbeddingPlan plan_of_tables(const ResolvedScenario& resolved);

/// Adds what becomes of a DLRM's embedding tables between two phases: those whose rows or dimensions change
/// are scored, copied and filled where they are; those that are placed anew move; a checkpoint holds them
/// all.
void add_tables(const ResolvedScenario& before, const ResolvedScenario& after, const TransitionSpec& spec,
                TransitionWork& work);

}  // namespace lockstep
