#include "search/learned/autoshard_costs.hpp"

namespace lockstep::sharding::learned {

double AutoShardCosts::learn(const MeasuredShards& measured) {
  Dense::Passed through_tables, through_head;
  const Matrix vectors = tables_.forward(measured.features, through_tables);
  const Matrix sums = sums_of_groups(vectors, measured.shard, measured.costs.size());
  const Matrix errors = head_.forward(sums, through_head) - measured.costs.transpose();
  const Matrix by_sums = head_.backward(2.0 / static_cast<double>(errors.size()) * errors, through_head);
  tables_.backward(spread_to_columns(by_sums, measured.shard), through_tables);
  return errors.squaredNorm() / static_cast<double>(errors.size());
}

void AutoShardCosts::list(std::vector<NamedParameter>& parameters) {
  tables_.list("costs.tables", parameters);
  head_.list("costs.head", parameters);
}

}  // namespace lockstep::sharding::learned
