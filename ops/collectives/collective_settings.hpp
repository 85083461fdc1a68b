#pragma once

#include <optional>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/comm_choice.hpp"
#include "topology/kinds.hpp"

namespace lockstep {

/// How collectives are run: chosen as NCCL chooses where nothing is said.
struct CollectiveSettings {
  std::optional<Named<CollectiveProfile>> profile;
  std::optional<CommAlgorithm> all_reduce;
  std::optional<CommAlgorithm> all_to_all;
  std::optional<CommAlgorithm> all_gather;
  std::optional<CommAlgorithm> reduce_scatter;
  std::optional<CommProtocol> protocol;
  std::optional<P2pLevel> p2p_level;
  std::optional<P2pLevel> net_gdr_level;

  template <class Visitor>
  static void describe(Visitor& key, CollectiveSettings& settings) {
    key.optional(
        "profile", settings.profile, std::nullopt,
        "measured class of machines (configs/profiles); left out: after the GPU model and its links");
    key.optional("all_reduce", settings.all_reduce, std::nullopt, "algorithm; left out: as NCCL chooses");
    key.optional("all_to_all", settings.all_to_all, std::nullopt, "algorithm; left out: as NCCL chooses");
    key.optional("all_gather", settings.all_gather, std::nullopt, "algorithm; left out: as NCCL chooses");
    key.optional("reduce_scatter", settings.reduce_scatter, std::nullopt,
                 "algorithm; left out: as NCCL chooses");
    key.optional("protocol", settings.protocol, std::nullopt,
                 "of all collectives; left out: as NCCL chooses");
    key.optional(
        "p2p_level", settings.p2p_level, std::nullopt,
        "NCCL_P2P_LEVEL: how far apart GPUs of a node exchange directly, the others through host memory; "
        "LOC: none (NCCL_P2P_DISABLE), NVL, PIX, PXB, PHB or SYS: all; left out: NCCL's own rule");
    key.optional(
        "net_gdr_level", settings.net_gdr_level, std::nullopt,
        "NCCL_NET_GDR_LEVEL: how far a NIC may be that reads and writes a GPU's memory, the others by way of "
        "host memory; LOC: none, PIX, PXB, PHB or SYS: all; left out: NCCL's own rule, PXB");
  }
};

/// The settings that a planner takes, with @p profile.
[[nodiscard]] CollectiveOptions options_of(const CollectiveSettings& settings, CollectiveProfile profile);

}  // namespace lockstep
