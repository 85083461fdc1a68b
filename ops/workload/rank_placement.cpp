#include "ops/workload/rank_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {
namespace {

/// GPUs of each node, nodes in order, GPUs by their index.
std::map<int, std::vector<VertexId>> gpus_of_nodes(const Fabric& fabric) {
  std::vector<VertexId> gpus{fabric.gpus().begin(), fabric.gpus().end()};
  const auto vertices = fabric.vertices();
  std::ranges::sort(gpus, {}, [&](VertexId id) { return std::tuple{vertices[id].index, id}; });
  std::map<int, std::vector<VertexId>> of_node;
  for (const VertexId gpu : gpus) {
    of_node[vertices[gpu].node].push_back(gpu);
  }
  return of_node;
}

/// Ranks in a row that `in_stage` neighbours within a stage take, where stages lie between them.
std::int64_t span_of(const TransformerPlanSpec& plan, std::int64_t data, std::int64_t in_stage) {
  std::int64_t stride = 1, below = 1;
  for (std::size_t at = 0; at + 2 <= plan.rank_order.size(); at += 3) {
    const std::string part = plan.rank_order.substr(at, 2);
    const std::int64_t size = part == "tp"   ? plan.tensor
                              : part == "cp" ? plan.context
                              : part == "dp" ? data
                                             : plan.pipeline;
    if (part != "pp") {
      if (in_stage <= below * size) {
        return stride * ((in_stage + below - 1) / below);
      }
      below *= size;
    }
    stride *= size;
  }
  return stride;
}

/// Ranks from one of @p kind to the next, times their number.
std::int64_t span_of(const TransformerPlanSpec& plan, std::int64_t data, const std::string& kind) {
  std::int64_t stride = 1;
  for (std::size_t at = 0; at + 2 <= plan.rank_order.size(); at += 3) {
    const std::string part = plan.rank_order.substr(at, 2);
    stride *= part == "tp" ? plan.tensor : part == "cp" ? plan.context : part == "dp" ? data : plan.pipeline;
    if (part == kind) {
      break;
    }
  }
  return stride;
}

/// Most ranks on a node of @p size GPUs so that no group straddles two, if @p ranks have room then.
std::optional<int> aligned(std::span<const int> blocks, int size, int nodes, int ranks) {
  std::int64_t multiple = 1;
  for (const int block : blocks) {
    if (block <= size) {
      multiple = std::lcm(multiple, std::int64_t{block});
    }
  }
  if (multiple > size) {
    return std::nullopt;
  }
  const auto per_node = static_cast<int>(size - size % multiple);
  return std::int64_t{per_node} * nodes >= ranks ? std::optional{per_node} : std::nullopt;
}

int usual_per_node(const TransformerPlanSpec& plan, const NodeSizes& sizes, int ranks) {
  if (sizes.least != sizes.most || ranks <= sizes.most) {
    return sizes.most;
  }
  const GroupBlocks of = group_blocks(plan, ranks);
  const std::array<int, 3> blocks{of.tensor, of.context, of.expert};
  for (std::size_t kept = blocks.size(); kept > 0; --kept) {
    if (const auto per_node = aligned(std::span{blocks}.first(kept), sizes.most, sizes.nodes, ranks)) {
      return *per_node;
    }
  }
  return sizes.most;
}

}  // namespace

NodeSizes node_sizes(const Fabric& fabric) {
  std::map<int, int> of_node;
  for (const VertexId gpu : fabric.gpus()) {
    ++of_node[fabric.vertices()[gpu].node];
  }
  const auto [least, most] = std::ranges::minmax_element(of_node, {}, &std::pair<const int, int>::second);
  return {static_cast<int>(of_node.size()), least->second, most->second,
          static_cast<int>(fabric.gpus().size())};
}

GroupBlocks group_blocks(const TransformerPlanSpec& plan, int ranks) {
  const std::int64_t of_replica = std::int64_t{plan.tensor} * plan.context * plan.pipeline;
  const std::int64_t data = std::max<std::int64_t>(1, ranks / of_replica);
  const auto number = [](std::int64_t span) {
    return static_cast<int>(std::min<std::int64_t>(span, std::numeric_limits<int>::max()));
  };
  const std::int64_t experts = std::int64_t{plan.expert} * plan.expert_tensor;
  return {plan.tensor > 1 ? number(span_of(plan, data, "tp")) : 1,
          plan.context > 1 ? number(span_of(plan, data, "cp")) : 1,
          experts > 1 ? number(span_of(plan, data, experts)) : 1};
}

RankPlacement place_ranks(const ParallelismSpec& parallelism, const NodeSizes& sizes) {
  RankPlacement placement;
  placement.gpus_of_node = sizes.least == sizes.most ? sizes.most : 0;
  if (!parallelism.ranks_per_node) {
    placement.ranks = parallelism.ranks.value_or(sizes.all);
    placement.per_node = usual_per_node(parallelism.transformer, sizes, placement.ranks);
    return placement;
  }
  placement.per_node = *parallelism.ranks_per_node;
  if (placement.per_node > sizes.least) {
    throw std::invalid_argument{
        fmt::format("{} ranks were asked for on each node, {} {} GPUs", placement.per_node,
                    placement.gpus_of_node > 0 ? "nodes have" : "one has only", sizes.least)};
  }
  const int room = placement.per_node * sizes.nodes;
  placement.ranks = parallelism.ranks.value_or(room);
  if (placement.ranks > room) {
    throw std::invalid_argument{fmt::format("with {} on each of {} nodes there is room for {} ranks, not {}",
                                            placement.per_node, sizes.nodes, room, placement.ranks)};
  }
  return placement;
}

std::vector<VertexId> gpus_by_rank(const RankPlacement& placement, const Fabric& fabric) {
  std::vector<VertexId> gpus, others;
  for (const auto& [node, of_node] : gpus_of_nodes(fabric)) {
    const auto taken = std::min(static_cast<std::ptrdiff_t>(placement.per_node), std::ssize(of_node));
    gpus.insert(gpus.end(), of_node.begin(), of_node.begin() + taken);
    others.insert(others.end(), of_node.begin() + taken, of_node.end());
  }
  gpus.insert(gpus.end(), others.begin(), others.end());
  return gpus;
}

}  // namespace lockstep
