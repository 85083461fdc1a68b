#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/sharding/cached_cost_model.hpp"

namespace lockstep::sharding {

/// A plan as what each device holds, judged. Changing it works out only the devices that the change touches;
/// copies are cheap, so that a change that turns out badly is thrown away.
class DeviceState {
 public:
  DeviceState(CachedCostModel& cost_model, const Plan& plan);

  [[nodiscard]] std::size_t devices() const { return pieces_.size(); }
  [[nodiscard]] const std::vector<Piece>& pieces_on(std::uint32_t device) const { return pieces_[device]; }
  [[nodiscard]] Seconds cost() const { return estimate_.total; }
  /// The device that is done last.
  [[nodiscard]] std::uint32_t slowest() const;
  [[nodiscard]] Plan plan() const;

  /// Moves the piece at @p position of @p from to @p to. False, and nothing done, where it does not fit.
  bool move(std::uint32_t from, std::size_t position, std::uint32_t to);
  /// Exchanges two pieces of different devices. False, and nothing done, where one does not fit.
  bool swap(std::uint32_t a, std::size_t position_a, std::uint32_t b, std::size_t position_b);
  /// Halves a piece: one half stays, the other goes to @p to. False where that cannot be.
  bool split(std::uint32_t from, std::size_t position, std::uint32_t to);
  /// Makes one piece of this one and an equal one of the same table on the device. False where there is none.
  bool merge(std::uint32_t device, std::size_t position);

  /// After changes: what the plan costs now.
  Seconds judge_again();

 private:
  [[nodiscard]] Bytes size_of(const Piece& piece) const {
    return cost_model_->task().size_of(piece.table, piece.columns);
  }
  [[nodiscard]] bool has_room(std::uint32_t device, Bytes more) const {
    return used_[device] + more <= cost_model_->task().capacity[device];
  }
  void put(std::uint32_t device, Piece piece);
  Piece take(std::uint32_t device, std::size_t position);

  CachedCostModel* cost_model_;
  std::vector<std::vector<Piece>> pieces_;  // by device
  std::vector<Bytes> used_;
  std::vector<double> widths_, indices_;
  std::vector<Seconds> compute_;
  std::vector<bool> changed_;
  Estimate estimate_;
};

}  // namespace lockstep::sharding
