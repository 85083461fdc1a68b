#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/random.hpp"

namespace lockstep::sharding::learned {

/// The numbers of one generator, one after the other.
class DrawSequence {
 public:
  DrawSequence(std::uint64_t seed, std::string_view name) : random_{seed, name} {}

  /// In [0, 1).
  double next() { return random_.uniform(index_++); }
  /// 0 to @p count - 1.
  std::size_t below(std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(next() * static_cast<double>(count)));
  }

 private:
  Random random_;
  std::uint64_t index_ = 0;
};

}  // namespace lockstep::sharding::learned
