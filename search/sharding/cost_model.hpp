#pragma once

/// @file
/// Who says what a plan costs. A method asks many times, so that what belongs to a piece is worked out once.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "search/sharding/task.hpp"

namespace lockstep::sharding {

/// The load of pieces on the device that holds them, in numbers that only the cost model knows.
struct Load {
  static constexpr std::size_t kSums = 32;

  std::array<double, kSums> sums{};
  double largest = 0;      ///< of all pieces
  double widest = 0;       ///< columns, of all pieces
  double pieces = 0;       ///< how many
  std::uint32_t kind = 0;  ///< of the device (CostModel::kind_of())

  void add(const Load& other) {
    for (std::size_t i = 0; i < kSums; ++i) {
      sums[i] += other.sums[i];
    }
    largest = std::max(largest, other.largest);
    widest = std::max(widest, other.widest);
    pieces += other.pieces;
    kind = other.kind;
  }
};

/// Time that a plan costs in a step.
struct Estimate {
  std::vector<Seconds> compute;        ///< by device: inputs, lookups and their backward pass
  std::vector<Seconds> communication;  ///< by device: both exchanges
  Seconds total;                       ///< until the slowest device is done
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  /// Devices of one kind take equally long for equal pieces; kinds are numbered from 0.
  [[nodiscard]] virtual std::uint32_t kind_of(std::uint32_t /*device*/) const { return 0; }

  /// @param kind of the device that holds the piece
  /// @pre as many columns as the table has, or fewer
  [[nodiscard]] virtual Load load_of(const Table& table, std::int64_t columns, std::uint32_t kind) const = 0;

  /// Time of a device with @p load, forward and backward, as if it were alone.
  [[nodiscard]] virtual Seconds compute(const Load& load) const = 0;

  /// The estimate for all devices together.
  /// @param widths by device: elements of the pooled rows that it looks up for a sample
  /// @param indices by device: indices and offsets that come to it for a sample
  [[nodiscard]] virtual Estimate estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                          std::span<const double> indices) const = 0;
};

}  // namespace lockstep::sharding
