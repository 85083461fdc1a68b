#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "ops/collectives/collective_plan.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/comm_schedule.hpp"

namespace lockstep {

class NvLinks;

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
/// Group layouts and routed traffic are kept, so that a plan for another size costs little. Not thread-safe.
/// The fabric must outlive the planner.
class CollectivePlanner {
 public:
  explicit CollectivePlanner(const Fabric& fabric, CollectiveOptions options = {});
  ~CollectivePlanner();
  CollectivePlanner(CollectivePlanner&&) noexcept;
  CollectivePlanner& operator=(CollectivePlanner&&) noexcept;
  CollectivePlanner(const CollectivePlanner&) = delete;
  CollectivePlanner& operator=(const CollectivePlanner&) = delete;

  /// Prices by another profile from now on; layouts and traffic are kept.
  void set_profile(CollectiveProfile profile) { options_.profile = std::move(profile); }

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

  [[nodiscard]] Group& group(std::span<const VertexId> members) const;

  const Fabric* fabric_;
  std::unique_ptr<const NvLinks> nvlinks_;
  CollectiveOptions options_;
  mutable std::map<std::vector<VertexId>, std::unique_ptr<Group>> groups_;
};

/// Time of @p plan with the machine to itself.
[[nodiscard]] Seconds time_alone(const CollectivePlan& plan, const Fabric& fabric);

}  // namespace lockstep
