#include "ops/collectives/collective_settings.hpp"

#include <utility>

namespace lockstep {

CollectiveOptions options_of(const CollectiveSettings& settings, CollectiveProfile profile) {
  CollectiveOptions options;
  options.profile = std::move(profile);
  const auto fix = [&](CollectiveKind kind, const std::optional<CommAlgorithm>& algorithm) {
    if (algorithm) {
      options.algorithm[kind] = *algorithm;
    }
  };
  fix(CollectiveKind::AllReduce, settings.all_reduce);
  fix(CollectiveKind::AllToAll, settings.all_to_all);
  fix(CollectiveKind::AllGather, settings.all_gather);
  fix(CollectiveKind::ReduceScatter, settings.reduce_scatter);
  options.protocol = settings.protocol;
  return options;
}

}  // namespace lockstep
