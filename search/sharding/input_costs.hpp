#pragma once

#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep::sharding {

/// How long the indices of a step take from host memory to the GPUs whose tables they are for, where all
/// copies begin together. A link gives every copy on it the same share, so that device i has its bytes b[i]
/// after
///
///   max( b[i] / rate alone, max over links l on its route of sum over devices j on l of min(b[i], b[j]) / l
///   )
///
/// *Assumes* that a copy which one link holds up leaves its share of another one unused. *Source*: max-min
/// sharing, as sim/network/shared.hpp does it.
class InputCosts {
 public:
  /// @param alone by GPU, rate of one copy
  /// @param index bytes of all samples' indices, one for each
  InputCosts(const Fabric& fabric, std::span<const VertexId> gpus, std::vector<BytesPerSecond> alone,
             Bytes index);

  /// Time that so many indices for a sample take to @p device.
  [[nodiscard]] Seconds alone(std::size_t device, double indices) const {
    return indices * index_ / alone_[device];
  }
  /// How much longer than alone those of @p device take. @param indices by device, for a sample
  [[nodiscard]] Seconds held_up(std::size_t device, std::span<const double> indices) const;

  /// However so many indices for a sample are divided among the devices, some device has its own no earlier:
  /// together they come as fast as the slowest shared link of each device, or its own rate, lets them.
  [[nodiscard]] Seconds at_least(double indices) const;

  /// Devices in groups, each with the shared link that leaves its devices least, or alone. A device's copies
  /// are done no earlier than the group's link brings them.
  struct Groups {
    std::size_t most = 0;             ///< devices in one
    BytesPerSecond slowest, fastest;  ///< link of a group
    BytesPerSecond together;          ///< all links
  };
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] Bytes index() const { return index_; }

  /// Sum over devices of the time until their copies are done, at least, where the devices that have the most
  /// indices of their groups together have @p first of @p all: the k-th of a group waits for its own indices
  /// k times, and once for those of every device that has fewer.
  [[nodiscard]] Seconds sum_at_least(double first, double all) const;

 private:
  struct SharedLink {
    BytesPerSecond rate;
    std::vector<std::size_t> devices;
  };
  void add(SharedLink link);
  [[nodiscard]] Groups grouped() const;

  std::vector<BytesPerSecond> alone_;  // by device
  Bytes index_;
  std::vector<SharedLink> links_;
  std::vector<std::vector<std::size_t>> links_of_;  // by device: indices into links_
  Groups groups_;
};

}  // namespace lockstep::sharding
