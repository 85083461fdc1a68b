#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.hpp"
#include "search/sharding/device_state.hpp"

namespace lockstep::sharding {

/// Draws small changes of a plan: a piece moves to another device, two pieces of different devices change
/// places, a piece is halved, two equal pieces of a table on one device become one. The same seed and name
/// draw the same.
class SmallChanges {
 public:
  SmallChanges(std::uint64_t seed, std::string_view name, bool may_cut)
      : random_{seed, name}, may_cut_{may_cut} {}

  /// Draws one and makes it. False, and nothing done, where it cannot be made.
  /// @param slowest the device that many changes concern
  bool make(DeviceState& state, std::uint32_t slowest);

 private:
  double next() { return random_.uniform(index_++); }
  std::size_t below(std::size_t count);

  Random random_;
  std::uint64_t index_ = 0;
  bool may_cut_;
};

}  // namespace lockstep::sharding
