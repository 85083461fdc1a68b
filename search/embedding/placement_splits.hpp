#pragma once

/// @file
/// Which tables a search places one by one, and what becomes of the others.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/embedding/sharding_problem.hpp"
#include "search/sharding/embedding_plans.hpp"

namespace lockstep {

/// Most bytes of tables that are on every GPU: an all-reduce of more takes longer than any exchange.
inline constexpr Bytes kMostCopies{2e9};

/// Shares of the room for tables that may be kept free for the rest of the step.
inline constexpr std::array kSpares{0.0, 0.1, 0.2, 0.4, 0.6};

struct PlacementSplit {
  std::string name;                  ///< of what is not placed, "" for nothing
  sharding::Spread spread;           ///< what is not
  std::vector<std::int64_t> placed;  ///< numbers of the tables that are; repeated: equal parts of its rows
  double spare = 0;                  ///< of the room for tables, left to the rest of the step
  bool by_nodes = false;             ///< by the rows of nodes: its devices are nodes (rows_of_nodes.hpp)
  sharding::WholeTables whole = sharding::WholeTables::WithCutOnes;
};

/// The scenario's DLRM is HugeCTR's, which has other plans than TorchRec's.
[[nodiscard]] bool is_hugectr(const ShardingProblem& problem);

/// All tables are placed.
[[nodiscard]] PlacementSplit everything(const sharding::Task& task);

/// Splits with tables on every GPU: eight numbers of those with the fewest rows for each lookup, and none. Of
/// the other tables 0, 1, 2 and 4 that cost most are cut by the rows of all GPUs. Other splits cut 1, 2 and 4
/// of the largest so. On several nodes, tables that cost most are also cut by the rows of a node, so that
/// nodes are equally busy: 2, 4, 8, an eighth, a quarter and half of them. None where every table has to be
/// whole. HugeCTR: those numbers on every GPU, and the others in pieces by rows, each placed by itself. No
/// piece costs more than twice, once or half of what a GPU does on average. On several nodes also all of them
/// by the rows of some nodes.
[[nodiscard]] std::vector<PlacementSplit> splits(const ShardingProblem& problem);

/// Splits that leave nothing to place: all tables by the rows of all GPUs, all on every GPU, or a mix. The
/// mix has those with the fewest rows for each lookup on every GPU, and the others by rows. On several nodes
/// also by the rows of a node. None where tables cannot be cut so, and none for HugeCTR.
[[nodiscard]] std::vector<PlacementSplit> divisions_of_all(const ShardingProblem& problem);

/// All tables cut by the rows of all GPUs: the least that a GPU can have of them.
[[nodiscard]] PlacementSplit all_by_rows(const sharding::Task& task);

/// Cut by the rows of all GPUs, in host memory. @param cached share of the rows in a cache on GPUs; 0:
/// without
[[nodiscard]] TableShardingSpec rows_in_host_memory(double cached);

/// `cached in host memory, 5 % of their rows on GPUs`, `in host memory`: a name of @p how tables are there;
/// the share where it is not the usual one.
[[nodiscard]] std::string in_host_memory(const TableShardingSpec& how);

/// @p tables in host memory, the others placed. @param which `largest`, `coldest`: of the name; or ""
[[nodiscard]] PlacementSplit into_host_memory(const ShardingProblem& problem,
                                              std::span<const std::int64_t> tables, TableShardingSpec how,
                                              std::string_view which = "");

/// The task of placing the tables that the split leaves, with the memory that it leaves.
[[nodiscard]] sharding::Task placed_task(const ShardingProblem& problem, const PlacementSplit& split);

/// @p pieces of what @p split places, and what it spreads.
[[nodiscard]] EmbeddingPlan plan_of(const sharding::Plan& pieces, const PlacementSplit& split);

}  // namespace lockstep
