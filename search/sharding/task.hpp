#pragma once

/// @file
/// The question of a sharding search: which piece of which embedding table goes to which device.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "ops/kernel.hpp"

namespace lockstep::sharding {

/// Shares of the rows that a batch touches by how often it uses them (ops/kernels/index_model.hpp,
/// reuse_bins).
using ReuseBins = std::array<double, 17>;

struct Table {
  EmbeddingTable shape;
  ReuseBins reuse{};  ///< at the task's batch; all 0 where the table is empty
};

/// Narrower than this, and in other steps, no method cuts a table: 4 elements, 16 bytes, are what FBGEMM's
/// kernels load at once (NeuroShard, neurosharder.py, cuts likewise).
inline constexpr std::int64_t kColumnStep = 4;

/// Devices that are alike but for the memory they have left.
struct Task {
  std::vector<Table> tables;
  std::vector<Bytes> capacity;  ///< by device: memory for tables; 0: it takes none
  Bytes element{4};             ///< of a table's element, optimizer state included
  std::int64_t batch = 65536;   ///< samples, all devices
  bool may_cut = true;          ///< false: every table is whole, on one device

  [[nodiscard]] std::size_t devices() const { return capacity.size(); }
  /// Devices that take tables, ascending.
  [[nodiscard]] std::vector<std::uint32_t> places() const {
    std::vector<std::uint32_t> places;
    for (std::uint32_t device = 0; device < capacity.size(); ++device) {
      if (capacity[device] > Bytes{0}) places.push_back(device);
    }
    return places;
  }
  /// Of a bag of @p table, and its offset.
  [[nodiscard]] double indices_of(std::size_t table) const { return tables[table].shape.pooling_factor + 1; }
  [[nodiscard]] Bytes size_of(std::size_t table, std::int64_t columns) const {
    return static_cast<double>(tables[table].shape.rows) * static_cast<double>(columns) * element;
  }
  /// Whether a piece of @p columns can be halved.
  [[nodiscard]] bool can_halve(std::int64_t columns) const {
    return may_cut && columns % (2 * kColumnStep) == 0;
  }
};

}  // namespace lockstep::sharding
