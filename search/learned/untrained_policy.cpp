#include <cstdint>
#include <memory>
#include <string_view>

#include "search/learned/autoshard_policy.hpp"
#include "search/learned/dreamshard_policy.hpp"
#include "search/learned/training.hpp"

namespace lockstep::sharding::learned {

std::unique_ptr<PlacementPolicy> untrained_policy(std::string_view method, const PolicyScale& scale) {
  constexpr std::uint64_t kSeed = 1;
  if (method == "autoshard") {
    return std::make_unique<AutoShardPolicy>(scale, kSeed);
  }
  return std::make_unique<DreamShardPolicy>(scale, kSeed);
}

}  // namespace lockstep::sharding::learned
