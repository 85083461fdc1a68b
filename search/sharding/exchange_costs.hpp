#pragma once

#include <span>
#include <vector>

#include "ops/collectives/collective_planner.hpp"

namespace lockstep::sharding {

/// How long an all-to-all takes in which ranks send unequally, fast. Every link carries a sum of what the
/// ranks send, so that the busiest link's time is the largest of some linear forms:
///
///   t = latency + max( slack max over links l of sum over ranks i of c[l][i] w[i], max over i of a[i] w[i] )
///
/// with w[i] the width that rank i holds; c and a (of a unit of width, all else included) from plans in which
/// one rank alone has something to send, latency and slack (what protocol and copying take on top of the
/// links) from the one in which all have equally much. *Assumes* that the planner's algorithm for these
/// serves all others.
class ExchangeCosts {
 public:
  /// @param sample bytes that a unit of width makes each rank receive: its part of the batch
  /// @param backward every rank sends to the holders of the tables instead of receiving from them
  ExchangeCosts(const CollectivePlanner& planner, const Fabric& fabric, std::span<const VertexId> ranks,
                Bytes sample, bool backward);

  [[nodiscard]] Seconds operator()(std::span<const double> widths) const;
  /// No widths with this sum take less.
  [[nodiscard]] Seconds at_least(double width) const;

 private:
  void add_form(const std::vector<double>& form);

  Seconds latency_;
  std::vector<std::vector<double>> seconds_;  // by link, by rank: of a unit of width, s
};

}  // namespace lockstep::sharding
