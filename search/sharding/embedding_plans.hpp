#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/workload/embedding_plan.hpp"
#include "search/sharding/plan.hpp"

namespace lockstep::sharding {

/// Tables that are not given to single devices.
struct Spread {
  std::vector<TableShardingSpec> tables;  ///< ranks or node where their sharding takes them
};

/// The sharding of whole tables in a plan that cuts others by columns.
enum class WholeTables : std::uint8_t {
  WithCutOnes,  ///< are column_wise in one piece: looked up and exchanged together with those that are cut
  Apart         ///< are table_wise: looked up and exchanged by themselves
};

/// @p plan as a file says it. Pieces of a table become as narrow as its narrowest one, for a file has equally
/// wide ones.
/// @param numbers by table of the task: its number in the model; tables of one number are equal parts of its
///   rows, and two of them on one rank become one
[[nodiscard]] EmbeddingPlan embedding_plan_of(const Plan& plan, const std::vector<std::int64_t>& numbers,
                                              const Spread& spread,
                                              WholeTables whole = WholeTables::WithCutOnes);

/// In YAML's flow style, on one line: for `parallelism.embedding.plan`.
[[nodiscard]] std::string in_one_line(const EmbeddingPlan& plan);

/// `{"tables": [{"table": 0, "sharding": "table_wise", "ranks": [3], "kernel": "fused"}, ...]}`
[[nodiscard]] std::string plan_json(const EmbeddingPlan& plan);

struct TableExtent {
  std::int64_t rows = 0, columns = 0;
};

/// The shards as TorchRec's sharding plan has them (torchrec/distributed/types.py, ParameterSharding): by
/// table `sharding_type`, `compute_kernel`, `ranks`, one for each shard, and shard_offsets, shard_sizes,
/// placement of each shard; null for what every rank has.
/// @param tables of the model
[[nodiscard]] std::string torchrec_json(const EmbeddingPlan& plan, const std::vector<TableExtent>& tables,
                                        const std::vector<std::vector<std::uint32_t>>& ranks_of_node);

}  // namespace lockstep::sharding
