#pragma once

#include <compare>

#include "ops/collectives/collective_plan.hpp"

namespace lockstep {

/// Bytes of a transfer that cross a link for each byte of the transfer's largest edge, or a sum of such
/// numbers. Sums are exact, so that they do not depend on an order: of multiples of 2^-24 below 2^29 in one
/// number, and of what is left, in multiples of 2^-60, of up to 2^17 transfers in another.
struct LinkWeight {
  double coarse = 0;
  double fine = 0;

  LinkWeight& operator+=(const LinkWeight& other) {
    coarse += other.coarse;
    fine += other.fine;
    return *this;
  }
  LinkWeight& operator-=(const LinkWeight& other) {
    coarse -= other.coarse;
    fine -= other.fine;
    return *this;
  }
  [[nodiscard]] double value() const { return coarse + fine; }
  auto operator<=>(const LinkWeight&) const = default;
};

/// Bytes of the plan's largest edge (of its most loaded link when it has no edges) per byte of its size; 1
/// for a plan that moves nothing.
[[nodiscard]] double unit_of(const CollectivePlan& plan);

/// Weight of a link of @p share. @param unit unit_of() the plan
[[nodiscard]] LinkWeight link_weight(double share, double unit);

}  // namespace lockstep
