#include "search/sharding/model_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "ops/kernel_model.hpp"

namespace lockstep::sharding {
namespace {

// Places in Load::sums, seconds.
constexpr std::size_t kDramForward = 0;
constexpr std::size_t kCacheForward = 1;
constexpr std::size_t kHostForward = 2;
constexpr std::size_t kDramBackward = 3;
constexpr std::size_t kCacheBackward = 4;
constexpr std::size_t kHostBackward = 5;
constexpr std::size_t kPasses = 6;

constexpr BytesPerSecond kEndless{std::numeric_limits<double>::max()};
constexpr double kManyTables = 64;

// Bytes of the passes beside the two kernels: embedding_bag.cpp (bounds check, linearise, fills, run lengths,
// scan, long segments; 24 for each pass of the sort), embedding_exchange.cpp (concatenate, copy).
constexpr double kLookupBytes = 84;
constexpr double kSortBytes = 24;
constexpr double kElementBytes = 20;

GpuSpec formulas_of(GpuSpec gpu) {
  gpu.learned.reset();
  return gpu;
}

GpuSpec without_waits(GpuSpec gpu) {
  gpu.efficiency.value.row_latency = Seconds{0};
  return gpu;
}

KernelCall bags(const EmbeddingTable& table, std::int64_t copies, std::int64_t batch, Direction direction,
                Optimizer optimizer) {
  return {"embedding", DataType::FP32,
          EmbeddingBags{.batch = batch,
                        .tables = std::vector<EmbeddingTable>(static_cast<std::size_t>(copies), table),
                        .direction = direction,
                        .optimizer = optimizer}};
}

double seconds_of(const KernelCall& call, const GpuSpec& gpu) {
  return (model_for(call).predict(call, gpu).duration - gpu.kernel_minimum) / Seconds{1};
}

/// Seconds that streaming a byte takes.
double seconds_of_byte(const GpuSpec& gpu) {
  return Bytes{1} / (gpu.efficiency->memory * gpu.memory_bandwidth) / Seconds{1};
}

}  // namespace

ModelCosts::ModelCosts(Setup setup, const ExchangeCosts& forward, const ExchangeCosts& backward)
    : setup_{std::move(setup)},
      forward_{forward},
      backward_{backward},
      only_dram_{without_waits(formulas_of(setup_.gpu))},
      only_cache_{only_dram_},
      only_host_{only_dram_} {
  only_dram_.l2_bandwidth = kEndless;
  only_cache_.memory_bandwidth = kEndless;
  only_host_.memory_bandwidth = kEndless;
  only_host_.l2_bandwidth = kEndless;
  GpuSpec only_waits = formulas_of(setup_.gpu);
  only_waits.memory_bandwidth = kEndless;
  only_waits.l2_bandwidth = kEndless;
  const EmbeddingTable one{.rows = 1, .dimension = 16, .pooling_factor = 1};
  const auto waits = [&](std::int64_t copies) {
    return seconds_of(bags(one, copies, setup_.batch, Direction::Forward, setup_.optimizer), only_waits);
  };
  bag_ = waits(1);
  bag_of_piece_ = waits(static_cast<std::int64_t>(kManyTables)) / kManyTables;
  // A small batch leaves warps for several tables at a time, which share the cache.
  at_a_time_ = std::clamp<std::int64_t>((2048 * std::int64_t{setup_.gpu.sm_count} / 32) / setup_.batch, 1, 8);
  const double passes = std::max(1.0, std::ceil(std::log2(std::max(2.0, setup_.rows)) / 8));
  pass_ = (kLookupBytes + kSortBytes * passes) * seconds_of_byte(setup_.gpu);
  element_ = kElementBytes * seconds_of_byte(setup_.gpu);
}

double ModelCosts::alone(const GpuSpec& gpu, const EmbeddingTable& table, Direction direction) const {
  return seconds_of(bags(table, at_a_time_, setup_.batch, direction, setup_.optimizer), gpu) /
         static_cast<double>(at_a_time_);
}

Load ModelCosts::load_of(const Table& table, std::int64_t columns) const {
  EmbeddingTable piece = table.shape;
  piece.dimension = columns;
  Load load;
  const auto both = [&](const GpuSpec& gpu, std::size_t forward, std::size_t backward) {
    load.sums[forward] = alone(gpu, piece, Direction::Forward);
    load.sums[backward] = alone(gpu, piece, Direction::Backward);
  };
  both(only_dram_, kDramForward, kDramBackward);
  both(only_cache_, kCacheForward, kCacheBackward);
  if (piece.location != TableLocation::Gpu) {
    both(only_host_, kHostForward, kHostBackward);
  }
  const auto samples = static_cast<double>(setup_.batch);
  load.sums[kPasses] = samples * (pass_ * piece.pooling_factor + element_ * static_cast<double>(columns));
  load.largest = piece.pooling_factor;
  load.pieces = 1;
  return load;
}

Seconds ModelCosts::compute(const Load& load) const {
  const double waits = load.largest * std::max(bag_, bag_of_piece_ * load.pieces);
  const auto& sums = load.sums;
  return 2 * setup_.gpu.kernel_minimum +
         Seconds{std::max({sums[kDramForward], sums[kCacheForward], sums[kHostForward], waits}) +
                 std::max({sums[kDramBackward], sums[kCacheBackward], sums[kHostBackward], waits}) +
                 sums[kPasses]};
}

Estimate ModelCosts::estimate(std::span<const Seconds> compute, std::span<const double> widths) const {
  const Seconds exchange = setup_.exposed * (forward_(widths) + backward_(widths));
  Estimate estimate;
  for (const Seconds time : compute) {
    estimate.compute.push_back(time);
    estimate.communication.push_back(exchange);
    estimate.total = std::max(estimate.total, time + exchange);
  }
  return estimate;
}

Seconds ModelCosts::at_least(const Task& task) const {
  Load all;
  double width = 0;
  for (const Table& table : task.tables) {
    all.add(load_of(table, table.shape.dimension));
    width += static_cast<double>(table.shape.dimension);
  }
  for (double& sum : all.sums) {
    sum /= static_cast<double>(task.devices());
  }
  all.largest = 0;  // a longest bag may hide behind the rest
  return compute(all) + setup_.exposed * (forward_.at_least(width) + backward_.at_least(width));
}

}  // namespace lockstep::sharding
