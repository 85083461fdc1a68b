#pragma once

/// @file
/// Sharding tasks and a cost model whose answers can be worked out by hand.

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "search/sharding/cost_model.hpp"
#include "search/sharding/method.hpp"

namespace lockstep::sharding {

inline void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

}  // namespace lockstep::sharding

namespace lockstep::testing {

/// A millisecond for each column and lookup of a sample, and one for each piece; both exchanges take a
/// millisecond for each column of the widest device.
class LinearCosts final : public sharding::CostModel {
 public:
  LinearCosts() = default;
  /// @param slowness by device: how many times as long its lookups take
  explicit LinearCosts(std::vector<double> slowness) : slowness_{std::move(slowness)} {}

  [[nodiscard]] std::uint32_t kind_of(std::uint32_t device) const override {
    return slowness_.empty() ? 0 : device;
  }
  [[nodiscard]] sharding::Load load_of(const sharding::Table& table, std::int64_t columns,
                                       std::uint32_t kind) const override {
    sharding::Load load;
    load.sums[0] = static_cast<double>(columns) * table.shape.pooling_factor;
    load.pieces = 1;
    load.kind = kind;
    return load;
  }
  [[nodiscard]] Seconds compute(const sharding::Load& load) const override {
    const double slowness = slowness_.empty() ? 1 : slowness_[load.kind];
    return Seconds{1e-3 * slowness * (load.sums[0] + load.pieces)};
  }
  [[nodiscard]] sharding::Estimate estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                            std::span<const double> /*indices*/) const override {
    const Seconds exchange{1e-3 * *std::ranges::max_element(widths)};
    sharding::Estimate estimate;
    for (const Seconds time : compute) {
      estimate.compute.push_back(time);
      estimate.communication.push_back(exchange);
      estimate.total = std::max(estimate.total, time + exchange);
    }
    return estimate;
  }

 private:
  std::vector<double> slowness_;
};

inline sharding::Table table(std::int64_t rows, std::int64_t dimension, double pooling_factor) {
  return {.shape = {.rows = rows, .dimension = dimension, .pooling_factor = pooling_factor}, .reuse = {}};
}

/// @p devices with room for @p bytes each.
inline sharding::Task task(std::vector<sharding::Table> tables, std::size_t devices, double bytes = 1e12) {
  return {.tables = std::move(tables), .capacity = std::vector<Bytes>(devices, Bytes{bytes})};
}

/// Tables of 1 to 1000 rows, dimension 4 to 64, up to 20 lookups.
inline sharding::Task random_task(std::uint64_t seed, std::size_t tables, std::size_t devices, double bytes) {
  const Random random{seed, "sharding task"};
  std::vector<sharding::Table> drawn;
  for (std::size_t i = 0; i < tables; ++i) {
    const auto rows = static_cast<std::int64_t>(1 + 1000 * random.uniform(3 * i));
    const auto halvings = static_cast<unsigned>(5 * random.uniform(3 * i + 1));
    drawn.push_back(table(rows, std::int64_t{64} >> halvings, 20 * random.uniform(3 * i + 2)));
  }
  return task(std::move(drawn), devices, bytes);
}

}  // namespace lockstep::testing
