#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace lockstep::sharding {

/// Machines that are alike, and what each job takes one of them.
struct AlikeMachines {
  double machines = 1;
  std::vector<Seconds> times;  ///< by job; infinite: none of them can do it
};

/// A bound from below, and how it comes about.
struct DividedWork {
  Seconds least;
  std::vector<std::size_t> kind_of;  ///< by job: who does it at the bound
};

/// However jobs, which can be divided at will, are given to machines of several kinds, some machine takes as
/// long: the linear relaxation of scheduling on unrelated machines by its dual,
///
///   time >= sum over jobs of min over kinds k of p[k] times[k] / machines[k]   for all prices p >= 0, sum 1
///
/// with prices that are looked for by coordinate ascent: the best for two kinds, a bound in any case.
/// Infinite where no machine can do some job. *Source*: Lenstra, Shmoys and Tardos, Mathematical Programming
/// 46 (1990), section 2. @pre every kind has equally many times
[[nodiscard]] DividedWork divided_work(std::span<const AlikeMachines> kinds);

}  // namespace lockstep::sharding
