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
                       .is_weighted = false});
  }
  return configs;
}

torchrec::Optimizer known_to_torchrec(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return torchrec::Optimizer::Sgd;
    case Optimizer::RowWiseAdagrad:
      return torchrec::Optimizer::RowWiseAdagrad;
    default:
      return torchrec::Optimizer::Other;
  }
}

}  // namespace

std::optional<Plan> torchrec_plan(CachedCostModel& cost_model, const SearchOptions& /*options*/) {
  const Task& task = cost_model.task();
  const std::vector<std::uint32_t> places = task.places();
  if (places.empty()) {
    return std::nullopt;
  }
  torchrec::Topology topology;  // of the devices that take tables
  topology.ranks = static_cast<std::int64_t>(places.size());
  topology.batch_per_rank = task.batch / topology.ranks;
  torchrec::Constraints constraints;
  constraints.shardings = {torchrec::Sharding::TableWise};
  if (task.may_cut) {
    constraints.shardings.push_back(torchrec::Sharding::ColumnWise);
  }
  constraints.kernels = {torchrec::Kernel::Fused};
  constraints.optimizer = known_to_torchrec(task.optimizer);
  Bytes capacity = task.capacity[places.front()];
  for (const std::uint32_t place : places) {
    capacity = std::min(capacity, task.capacity[place]);
  }
  const auto partition = torchrec::plan(configs_of(task), constraints, {capacity, Bytes{0}}, topology);
  if (!partition) {
    return std::nullopt;
  }
  Plan plan;
  for (const torchrec::ShardingOption& option : partition->options) {
    for (const torchrec::Shard& shard : option.shards) {
      plan.pieces.push_back({static_cast<std::uint32_t>(option.table), shard.size.columns,
                             places[static_cast<std::size_t>(shard.rank)]});
    }
  }
  return plan;
}

}  // namespace lockstep::sharding
