#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/job.hpp"
#include "ops/workload/parallel/parallel_plan.hpp"

namespace lockstep {

/// The place of a rank in a plan.
struct RankPlace {
  int tensor = 0, context = 0, data = 0, stage = 0;
  int expert = 0;    ///< in the expert-parallel group
  int in_stage = 0;  ///< among the ranks of its stage, in rank order: experts are laid out over these
};

/// The process groups of a plan, as Megatron-LM's parallel_state makes them:
///   tp              ranks that differ in the tensor index alone; likewise cp, pp
///   tp_cp           ranks that have pieces of the same samples
///   dp              replicas of dense parameters: they differ in data and context
///   mp              all that hold a replica's parameters (the gradients' norm): tensor and stage differ
///   stage           all of a pipeline stage (greatest magnitudes of FP8)
///   embedding       first and last stage (tied weights)
///   ep, etp, edp    experts: a stage's ranks in the order tensor, expert, data
///   etp_ep          ranks that have all experts together
///   shard           neighbours within dp that share (shard_group)
///   replica         their counterparts among the other neighbours
///   expert shard    neighbours within edp
///   expert replica  their counterparts
class PlanGroups {
 public:
  explicit PlanGroups(const ParallelPlan& plan);

  [[nodiscard]] const RankPlace& place(std::uint32_t rank) const { return places_[rank]; }

  /// Global ranks of the group of that kind that @p rank is in, in group order.
  /// @throws std::logic_error for an unknown kind
  [[nodiscard]] const std::vector<std::uint32_t>& members(std::string_view kind, std::uint32_t rank) const;

 private:
  void add_dense(std::uint32_t rank);
  void add_experts(std::uint32_t rank);
  void add(std::string_view kind, std::uint64_t key, std::uint32_t rank);

  const ParallelPlan& plan_;
  std::vector<RankPlace> places_;
  /// The groups of one kind: the group's number by rank, and members by number.
  struct Kind {
    std::vector<std::uint64_t> group_of_rank;
    std::map<std::uint64_t, std::vector<std::uint32_t>> members;
  };
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace lockstep
