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

/// Of tables that are on every GPU: an all-reduce of more takes longer than any exchange.
inline constexpr Bytes kMostCopies{2e9};

/// Shares of the room for tables that may be kept free for the rest of the step.
inline constexpr std::array kSpares{0.0, 0.1, 0.2, 0.4, 0.6};

struct Division {
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
[[nodiscard]] Division everything(const sharding::Task& task);

/// Those with the fewest rows for each look-up on every GPU, none and in eight numbers of them, and of the
/// others none, 1, 2 and 4 that cost most cut by the rows of all GPUs; 1, 2 and 4 of the largest tables cut
/// so; on several nodes the 2, 4, 8, eighth, quarter and half of the tables that cost most cut by the rows of
/// a node, so that nodes are equally busy with them. None where every table has to be whole. Of HugeCTR:
/// those numbers on every GPU, and the others in pieces by rows, of which none costs more than twice, once or
/// half of what a GPU does on average, each placed by itself; on several nodes also all of them by the rows
/// of some nodes.
[[nodiscard]] std::vector<Division> divisions(const ShardingProblem& problem);

/// Those that leave nothing to place: all tables cut by the rows of all GPUs, all on every GPU, and those
/// with the fewest rows for each look-up on every GPU and the others by rows; on several nodes by those of a
/// node, too. None where tables cannot be cut so, and of HugeCTR.
[[nodiscard]] std::vector<Division> divisions_of_all(const ShardingProblem& problem);

/// All tables cut by the rows of all GPUs: the least that a GPU can have of them.
[[nodiscard]] Division all_by_rows(const sharding::Task& task);

/// Cut by the rows of all GPUs, in host memory. @param cached share of the rows in a cache on GPUs; 0:
/// without
[[nodiscard]] TableShardingSpec rows_in_host_memory(double cached);

/// `cached in host memory, 5 % of their rows on GPUs`, `in host memory`: a name of @p how tables are there;
/// the share where it is not the usual one.
[[nodiscard]] std::string in_host_memory(const TableShardingSpec& how);

/// @p tables in host memory, the others placed. @param which `largest`, `coldest`: of the name; or ""
[[nodiscard]] Division into_host_memory(const ShardingProblem& problem, std::span<const std::int64_t> tables,
                                        TableShardingSpec how, std::string_view which = "");

/// What is left to place, with the memory that is left.
[[nodiscard]] sharding::Task placed_task(const ShardingProblem& problem, const Division& division);

/// @p pieces of what @p division places, and what it spreads.
[[nodiscard]] EmbeddingPlan plan_of(const sharding::Plan& pieces, const Division& division);

}  // namespace lockstep
