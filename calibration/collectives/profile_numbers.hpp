#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/collectives/collective_profile.hpp"

namespace lockstep {

/// A number of a profile that measurements can move.
struct ProfileNumber {
  std::string key;    ///< as in YAML: `ring.LL128.nvlink`
  double start = 0;   ///< > 0, SI units
  double spread = 0;  ///< how far, in ln(value / start), it may lie from the start without surprise
  double most = 0;    ///< largest value that makes sense; infinite where nothing bounds it
  std::function<void(CollectiveProfile&, double)> set;
  std::function<std::string(double)> text;  ///< with its unit
};

/// Latencies and rates of every protocol that @p profile has, and its links' efficiencies. Numbers that are 0
/// or left out stay so; so do wire_bytes and line_fraction, which are properties of the protocols.
[[nodiscard]] std::vector<ProfileNumber> numbers_of(const CollectiveProfile& profile);

}  // namespace lockstep
