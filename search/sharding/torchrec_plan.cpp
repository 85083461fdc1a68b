#include "search/sharding/torchrec_plan.hpp"

#include <algorithm>

#include "search/torchrec/planner.hpp"

namespace lockstep::sharding {
namespace {

std::vector<torchrec::TableConfig> configs_of(const Task& task) {
  std::vector<torchrec::TableConfig> configs;
  for (const Table& table : task.tables) {
    configs.push_back({.rows = table.shape.rows,
                       .columns = table.shape.dimension,
                       .pooling_factor = table.shape.pooling_factor,
                       .is_weighted = false,
                       .element = task.element});
  }
  return configs;
}

}  // namespace

std::optional<Plan> torchrec_plan(Judge& judge, const SearchOptions& /*options*/) {
  const Task& task = judge.task();
  torchrec::Topology topology;
  topology.ranks = static_cast<std::int64_t>(task.devices());
  topology.batch_per_rank = task.batch / topology.ranks;
  torchrec::Constraints constraints;
  constraints.shardings = {torchrec::Sharding::TableWise, torchrec::Sharding::ColumnWise};
  constraints.kernels = {torchrec::Kernel::Fused};
  constraints.optimizer = torchrec::Optimizer::Sgd;  // its state is in the task's element
  const Bytes capacity = *std::ranges::min_element(task.capacity);
  const auto partition = torchrec::plan(configs_of(task), constraints, {capacity, Bytes{0}}, topology);
  if (!partition) {
    return std::nullopt;
  }
  Plan plan;
  for (const torchrec::ShardingOption& option : partition->options) {
    for (const torchrec::Shard& shard : option.shards) {
      plan.pieces.push_back({static_cast<std::uint32_t>(option.table), shard.size.columns,
                             static_cast<std::uint32_t>(shard.rank)});
    }
  }
  return plan;
}

}  // namespace lockstep::sharding
