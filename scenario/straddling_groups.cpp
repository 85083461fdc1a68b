#include "scenario/straddling_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

/// A kind of process group, as parallel_transformer_job() names them, and what it is called here.
struct GroupKind {
  const char* prefix;
  const char* name;
  int GroupBlocks::*block;
};
constexpr GroupKind kKinds[] = {{"tp of ", "tensor", &GroupBlocks::tensor},
                                {"cp of ", "context", &GroupBlocks::context},
                                {"ep of ", "expert", &GroupBlocks::expert}};

/// NVLink domains of a machine, by the nodes of its GPUs.
class Domains {
 public:
  explicit Domains(const Fabric& fabric) : fabric_{fabric} {}

  [[nodiscard]] bool joins(VertexId a, VertexId b) {
    const int of_a = node(a), of_b = node(b);
    if (of_a == of_b) {
      return true;
    }
    const auto [known, fresh] = joined_.try_emplace(std::minmax(of_a, of_b));
    if (fresh) {
      known->second = is_nvlink(fabric_.route(a, b));
    }
    return known->second;
  }

  /// Between neighbours of @p gpu 's node. None: not over NVLink.
  [[nodiscard]] std::optional<BytesPerSecond> inside(VertexId gpu) const {
    for (const VertexId other : fabric_.gpus()) {
      if (other != gpu && node(other) == node(gpu)) {
        const Route route = fabric_.route(gpu, other);
        return is_nvlink(route) ? std::optional{bottleneck(fabric_, route)} : std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] int node(VertexId gpu) const { return fabric_.vertices()[gpu].node; }
  [[nodiscard]] bool is_nvlink(const Route& route) const {
    return std::ranges::all_of(route.links,
                               [&](LinkId link) { return fabric_.links()[link].kind == LinkKind::NvLink; });
  }

  const Fabric& fabric_;
  std::map<std::pair<int, int>, bool> joined_;
};

/// What of the groups of a kind leaves its domain.
struct Straddling {
  std::size_t groups = 0, all = 0, members = 0;
  std::pair<VertexId, VertexId> across{};  ///< of the first such group
};

Straddling straddling_of(const Job& job, const GroupKind& kind, Domains& domains) {
  Straddling found;
  for (const ProcessGroup& group : job.groups) {
    if (!group.name.starts_with(kind.prefix) || group.ranks.size() < 2) {
      continue;
    }
    ++found.all;
    const VertexId first = job.ranks[group.ranks.front()].gpu;
    const auto outside = std::ranges::find_if(
        group.ranks, [&](std::uint32_t rank) { return !domains.joins(first, job.ranks[rank].gpu); });
    if (outside != group.ranks.end()) {
      found.across = found.groups == 0 ? std::pair{first, job.ranks[*outside].gpu} : found.across;
      found.members = std::max(found.members, group.ranks.size());
      ++found.groups;
    }
  }
  return found;
}

/// How groups of @p block GPUs would stay in a node.
std::string remedy(const ResolvedScenario& resolved, int block) {
  const RankPlacement& placement = resolved.placement;
  const int gpus = placement.gpus_of_node;
  if (gpus == 0) {
    return "nodes have different numbers of GPUs, so that ranks fill them one after the other";
  }
  if (block > gpus) {
    return fmt::format("their ranks are spread over {} GPUs, and a node has {}", block, gpus);
  }
  const int per_node = gpus - gpus % block;
  const int nodes = (placement.ranks + per_node - 1) / per_node;
  return fmt::format("with 'ranks_per_node: {}' on {} nodes they stay inside", per_node, nodes);
}

}  // namespace

std::vector<std::string> straddling_groups(const ResolvedScenario& resolved) {
  std::vector<std::string> sentences;
  if (resolved.scenario.trace) {
    return sentences;
  }
  Domains domains{resolved.fabric};
  const GroupBlocks blocks = group_blocks(resolved.scenario.parallelism.transformer, resolved.placement.ranks);
  for (const GroupKind& kind : kKinds) {
    const Straddling found = straddling_of(resolved.job, kind, domains);
    if (found.groups == 0) {
      continue;
    }
    const auto [from, to] = found.across;
    if (const auto inside = domains.inside(from)) {
      sentences.push_back(fmt::format(
          "{} of {} {} groups of {} ranks leave their NVLink domain and exchange at {} across, {} inside: {}",
          found.groups, found.all, kind.name, found.members,
          to_string(bottleneck(resolved.fabric, resolved.fabric.route(from, to))), to_string(*inside),
          remedy(resolved, blocks.*kind.block)));
    }
  }
  return sentences;
}

}  // namespace lockstep
