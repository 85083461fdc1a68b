#pragma once

/// @file
/// The question of a sharding search: which piece of which embedding table goes to which device.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "ops/kernel.hpp"
#include "ops/workload/table_storage.hpp"

namespace lockstep::sharding {

/// Shares of the rows that a batch touches by how often it uses them (ops/kernels/index_model.hpp,
/// reuse_bins).
using ReuseBins = std::array<double, 17>;

struct Table {
  EmbeddingTable shape;
  ReuseBins reuse{};  ///< at the task's batch; all 0 where the table is empty
};

/// One of @p parts equal parts of a table's rows, with its share of uniform lookups.
inline Table part_by_rows(Table table, std::int64_t parts) {
  table.shape.rows = (table.shape.rows + parts - 1) / parts;
  table.shape.pooling_factor /= static_cast<double>(parts);
  return table;
}

/// Narrower than this, and in other steps, no method cuts a table: 4 elements, 16 bytes, are what FBGEMM's
/// kernels load at once (NeuroShard, neurosharder.py, cuts likewise).
inline constexpr std::int64_t kColumnStep = 4;

/// Tables to place, and the devices' memory for them. The cost model says how fast the devices are.
struct Task {
  std::vector<Table> tables;
  std::vector<Bytes> capacity;  ///< by device: memory for tables; 0: it takes none
  Optimizer optimizer = Optimizer::Sgd;
  std::int64_t batch = 65536;  ///< samples, all devices
  bool may_cut = true;         ///< false: every table is whole, on one device

  [[nodiscard]] std::size_t devices() const { return capacity.size(); }
  /// Devices that take tables, ascending.
  [[nodiscard]] std::vector<std::uint32_t> places() const {
    std::vector<std::uint32_t> places;
    for (std::uint32_t device = 0; device < capacity.size(); ++device) {
      if (capacity[device] > Bytes{0}) places.push_back(device);
    }
    return places;
  }
  [[nodiscard]] TableStorage storage() const { return storage_of(optimizer); }
  /// Indices of a bag of @p table, and its offset.
  [[nodiscard]] double indices_of(std::size_t table) const { return tables[table].shape.pooling_factor + 1; }
  [[nodiscard]] Bytes size_of(std::size_t table, std::int64_t columns) const {
    return storage().of(static_cast<double>(tables[table].shape.rows), static_cast<double>(columns));
  }
  /// Whether a piece of @p columns can be halved.
  [[nodiscard]] bool can_halve(std::int64_t columns) const {
    return may_cut && columns % (2 * kColumnStep) == 0;
  }
};

}  // namespace lockstep::sharding
