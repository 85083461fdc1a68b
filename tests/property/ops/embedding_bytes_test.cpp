// However tables are spread, the rows of every sample reach it once, and its gradients leave it once.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

/// The same cases every time, unless RC_PARAMS says otherwise.
template <class Property>
void holds(const std::string& what, const Property& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (std::getenv("RC_PARAMS") == nullptr) {
    params.seed = 2026;
  }
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{what, what}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
}

/// Two to twelve ranks on one to three nodes; up to 12 tables of any sharding.
PlannedJob random_job() {
  PlannedJob random;
  const int nodes = *rc::gen::inRange(1, 4), per_node = *rc::gen::inRange(nodes == 1 ? 2 : 1, 5);
  random.nodes.clear();
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    random.nodes.push_back(rank / per_node);
  }
  const std::int64_t ranks = nodes * per_node;
  random.batch = ranks * *rc::gen::inRange<std::int64_t>(1, 5);
  std::vector<TableGroupSpec> tables;
  const auto count = *rc::gen::inRange<std::int64_t>(1, 13);
  for (std::int64_t table = 0; table < count; ++table) {
    const auto pieces = *rc::gen::inRange<std::size_t>(1, 5);
    tables.push_back({.rows = {*rc::gen::inRange<std::int64_t>(1, 1000)},
                      .dimension = static_cast<std::int64_t>(pieces) * *rc::gen::inRange<std::int64_t>(1, 9),
                      .pooling_factor = static_cast<double>(*rc::gen::inRange(1, 9))});
    const auto sharding =
        *rc::gen::element(TableSharding::TableWise, TableSharding::ColumnWise, TableSharding::RowWise,
                          TableSharding::TableRowWise, TableSharding::DataParallel);
    TableShardingSpec entry = planned({table}, sharding);
    if (sharding == TableSharding::TableRowWise) {
      entry.node = *rc::gen::inRange<std::int64_t>(0, nodes);
    } else if (sharding == TableSharding::TableWise || sharding == TableSharding::ColumnWise) {
      const std::size_t on = sharding == TableSharding::TableWise ? 1 : pieces;
      entry.ranks =
          *rc::gen::container<std::vector<std::int64_t>>(on, rc::gen::inRange<std::int64_t>(0, ranks));
    }
    random.plan.push_back(entry);
  }
  random.spec = tables_only(std::move(tables));
  return random;
}

/// Bytes that the last exchange of each group brings to the samples of all ranks: an all-to-all's are sent
/// once; of a reduction each member keeps its part. A sum within a node that goes on to others is not the
/// last.
double delivered(const PlannedJob& planned_job, const Job& job, CollectiveKind sums) {
  const bool one_node = planned_job.nodes.back() == 0;
  double bytes = 0;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    for (const CollectiveCall& call : collectives_of(job, rank)) {
      const std::string& group = job.programs[0]->groups[call.group];
      const double members = static_cast<double>(job.groups[job.ranks[rank].groups[call.group]].ranks.size());
      if (call.kind == sums && (group == "world" || one_node)) {
        bytes += call.size.in_base_units() / members;
      } else if (call.kind == CollectiveKind::AllToAll) {
        bytes += call.size.in_base_units() / 2;  // once forward, once backward
      }
    }
  }
  return bytes;
}

TEST(EmbeddingBytes, AreConserved) {
  holds("every row arrives once, every gradient leaves once", [] {
    const PlannedJob planned_job = random_job();
    const Job job = planned_job.job();
    check(job);
    const std::vector<EmbeddingTable> tables = planned_job.spec.all_tables();
    double wanted = 0;
    for (const TableShardingSpec& entry : planned_job.plan) {
      if (entry.sharding != TableSharding::DataParallel) {
        wanted += 4.0 * static_cast<double>(planned_job.batch *
                                            tables[static_cast<std::size_t>(entry.tables[0])].dimension);
      }
    }
    RC_ASSERT(std::abs(delivered(planned_job, job, CollectiveKind::ReduceScatter) - wanted) <= 1e-9 * wanted);
    RC_ASSERT(std::abs(delivered(planned_job, job, CollectiveKind::AllGather) - wanted) <= 1e-9 * wanted);
  });
}

/// Every index of a row-cut table goes to one rank, of a column-cut one to the rank of each piece. Lookups
/// are rounded to whole ones for each rank and group.
TEST(EmbeddingBytes, IndicesReachEveryHolderOnce) {
  holds("values sent are lookups times pieces of columns", [] {
    PlannedJob planned_job = random_job();
    planned_job.input_distribution = true;
    planned_job.pipeline = *rc::gen::element(InputPipeline::None, InputPipeline::SparseDist);
    const Job job = planned_job.job();
    check(job);
    const std::vector<EmbeddingTable> tables = planned_job.spec.all_tables();
    double wanted = 0;
    std::set<TableSharding> groups;
    for (const TableShardingSpec& entry : planned_job.plan) {
      const double pieces = static_cast<double>(std::max<std::size_t>(1, entry.ranks.size()));
      if (entry.sharding != TableSharding::DataParallel) {
        groups.insert(entry.sharding);
        wanted += 8 * pieces * static_cast<double>(planned_job.batch) *
                  tables[static_cast<std::size_t>(entry.tables[0])].pooling_factor;
      }
    }
    const auto ranks = static_cast<double>(job.ranks.size()), count = static_cast<double>(groups.size());
    double sent = -3 * 8 * ranks * ranks * count;  // the sizes: int64 too
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
      for (const CollectiveCall& call : collectives_of(job, rank)) {
        sent += call.type == DataType::INT64 ? call.size.in_base_units() : 0;
      }
    }
    RC_ASSERT(std::abs(sent - wanted) <= 8 * 0.5 * ranks * count + 1e-6);
  });
}

}  // namespace
}  // namespace lockstep
