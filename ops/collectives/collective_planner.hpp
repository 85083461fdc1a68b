#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/collectives/collective_plan.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/comm_schedule.hpp"

namespace lockstep {

class NvLinks;
class PairWays;

/// Choices that a scenario may fix; NCCL's rule, the least predicted time, makes the others.
struct CollectiveOptions {
  CollectiveProfile profile = ideal_collective_profile();
  std::map<CollectiveKind, CommAlgorithm> algorithm;  ///< kinds not named: chosen
  std::optional<CommProtocol> protocol;               ///< for all kinds; none: chosen
};

/// Turns collectives into plans on one fabric. The candidates are NCCL's:
///
///   all-reduce                                         ring; between nodes tree, nvls_tree; inside one nvls
///   reduce-scatter, all-gather                         ring; with one GPU a node pat
///   broadcast, reduce                                  ring
///   all-to-all, send, receive                          pxn between nodes with NVSwitches, else direct
///   barrier                                            an all-reduce of 4 bytes
///
/// and the choice is the pair (algorithm, protocol) with the least time alone on the machine, the cost model
/// of NCCL's ncclTopoTuneModel with the fabric in place of its bandwidth table (docs/collectives.md).
///
/// Group layouts and routed traffic are kept, so that a plan for another size costs little. Groups that
/// differ by copies of nodes alone (topology/alike_nodes.hpp) share them. Not thread-safe. The fabric must
/// outlive the planner.
class CollectivePlanner {
 public:
  explicit CollectivePlanner(const Fabric& fabric, CollectiveOptions options = {});
  ~CollectivePlanner();
  CollectivePlanner(CollectivePlanner&&) noexcept;
  CollectivePlanner& operator=(CollectivePlanner&&) noexcept;
  CollectivePlanner(const CollectivePlanner&) = delete;
  CollectivePlanner& operator=(const CollectivePlanner&) = delete;

  /// Prices by another profile from now on; layouts and traffic are kept.
  void set_profile(CollectiveProfile profile);

  /// @param members GPUs in group order, each once
  /// @throws std::invalid_argument when the request does not fit the group (root, source, bytes, a negative
  ///   size), when no algorithm serves it, or when the one fixed by the options does not; says why
  [[nodiscard]] CollectivePlan plan(const CollectiveRequest& request,
                                    std::span<const VertexId> members) const;

  /// The messages behind plan(), for small groups: @p algorithm unrolled on the same layout.
  /// @throws std::invalid_argument as plan()
  [[nodiscard]] CommSchedule schedule(const CollectiveRequest& request, std::span<const VertexId> members,
                                      CommAlgorithm algorithm) const;

 private:
  class Group;

  struct NumbersHash {
    std::size_t operator()(const std::vector<std::uint32_t>& numbers) const;
  };
  using Groups = std::unordered_map<std::vector<std::uint32_t>, std::unique_ptr<Group>, NumbersHash>;

  [[nodiscard]] Group& own_group(std::span<const VertexId> members) const;
  [[nodiscard]] Group& alike_group(std::span<const VertexId> members) const;
  [[nodiscard]] CollectivePlan best_of(Group& group, const CollectiveRequest& request) const;

  const Fabric* fabric_;
  std::unique_ptr<const NvLinks> nvlinks_;
  std::unique_ptr<PairWays> ways_;
  CollectiveOptions options_;
  mutable Groups alike_;  // the first of each signature
  mutable Groups own_;    // by members, where a hash tells alike groups apart
};

/// Time of @p plan with the machine to itself.
[[nodiscard]] Seconds time_alone(const CollectivePlan& plan, const Fabric& fabric);

}  // namespace lockstep
