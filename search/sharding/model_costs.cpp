#include "search/sharding/model_costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/kernels/embedding_load.hpp"
#include "ops/kernels/host_traffic.hpp"

namespace lockstep::sharding {
namespace {

// Bytes of the passes beside the two kernels: embedding_bag.cpp (bounds check, linearise, fills, run lengths,
// scan, long segments; 24 for each pass of the sort), embedding_exchange.cpp (concatenate, copy).
constexpr double kLookupBytes = 84;
constexpr double kSortBytes = 24;
constexpr double kElementBytes = 20;

KernelCall bags(const EmbeddingTable& table, std::int64_t copies, std::int64_t batch, Direction direction,
                Optimizer optimizer) {
  return {"embedding", DataType::FP32,
          EmbeddingBags{.batch = batch,
                        .tables = std::vector<EmbeddingTable>(static_cast<std::size_t>(copies), table),
                        .direction = direction,
                        .optimizer = optimizer}};
}

/// Seconds that streaming a byte takes.
double seconds_of_byte(const GpuSpec& gpu) {
  return Bytes{1} / (gpu.efficiency->memory * gpu.memory_bandwidth) / Seconds{1};
}

}  // namespace

ModelCosts::ModelCosts(Setup setup, const ExchangeCosts& forward, const ExchangeCosts& backward)
    : setup_{std::move(setup)}, forward_{forward}, backward_{backward} {
  const double passes = std::max(1.0, std::ceil(std::log2(std::max(2.0, setup_.rows)) / 8));
  for (const GpuSpec& gpu : setup_.gpus) {
    Kind& kind = kinds_.emplace_back(Kind{.gpu = gpu});
    // A small batch leaves warps for several tables at a time, which share the cache.
    kind.at_a_time = std::clamp<std::int64_t>((2048 * std::int64_t{gpu.sm_count} / 32) / setup_.batch, 1, 8);
    kind.pass = (kLookupBytes + kSortBytes * passes) * seconds_of_byte(gpu);
    kind.element = kElementBytes * seconds_of_byte(gpu);
  }
  for (std::size_t device = setup_.gpu_of_device.size(); device-- > 0;) {
    kinds_[setup_.gpu_of_device[device]].device = device;
  }
}

void ModelCosts::add(const EmbeddingTable& piece, Direction direction, const Kind& kind, Load& load) const {
  const GpuSpec& gpu = kind.gpu;
  const auto copies = static_cast<double>(kind.at_a_time);
  const KernelCall call = bags(piece, kind.at_a_time, setup_.batch, direction, setup_.optimizer);
  const EmbeddingLoad all = embedding_load(std::get<EmbeddingBags>(call.work), call.type, gpu);
  const EmbeddingTimes times = embedding_times(all, direction, gpu);
  double* const sums = load.sums.data() + (direction == Direction::Forward ? 0 : kBackward);
  sums[kDram] = times.dram / Seconds{copies};
  sums[kLevel2] = look_up_time({times.level2, times.level1}) / Seconds{copies};
  sums[kWaits] = times.waits / Seconds{copies} * bags_at_a_time(piece.dimension, gpu);
  sums[kBlockWaits] = all.block_waits / gpu.sm_count * gpu.efficiency->row_latency / Seconds{copies};
  sums[kHost] = time_over_pcie(host_traffic(call), gpu) / Seconds{copies};
  if (direction == Direction::Forward) {
    load.largest = times.longest_wait / Seconds{1};
  }
}

Load ModelCosts::load_of(const Table& table, std::int64_t columns, std::uint32_t kind) const {
  const Kind& of = kinds_[kind];
  EmbeddingTable piece = table.shape;
  piece.dimension = columns;
  Load load;
  add(piece, Direction::Forward, of, load);
  add(piece, Direction::Backward, of, load);
  const auto samples = static_cast<double>(setup_.batch);
  load.sums[kPasses] = samples * (of.pass * piece.pooling_factor + of.element * static_cast<double>(columns));
  if (setup_.inputs) {
    load.sums[kInputs] = setup_.inputs->alone(of.device, piece.pooling_factor + 1) / Seconds{1};
  }
  load.widest = static_cast<double>(columns);
  load.pieces = 1;
  load.kind = kind;
  return load;
}

Seconds ModelCosts::compute(const Load& load) const {
  if (load.pieces == 0) {  // a rank without tables launches nothing
    return Seconds{0};
  }
  const Kind& kind = kinds_[load.kind];
  const double groups = bags_at_a_time(static_cast<std::int64_t>(load.widest), kind.gpu);
  const auto waits = [&](std::size_t first) {
    return Seconds{load.sums[first + kWaits] / groups + load.sums[first + kBlockWaits]};
  };
  const auto sum = [&](std::size_t place) { return Seconds{load.sums[place]}; };
  const Seconds forward =
      look_up_time({std::max(waits(0), Seconds{load.largest}), sum(kDram), sum(kLevel2), sum(kHost)});
  const Seconds backward =
      std::max({waits(kBackward), sum(kBackward + kDram), sum(kBackward + kLevel2), sum(kBackward + kHost)});
  return kind.launches() + forward + backward + sum(kPasses) + sum(kInputs);
}

Estimate ModelCosts::estimate(std::span<const Seconds> compute, std::span<const double> widths,
                              std::span<const double> indices) const {
  const Seconds exchange = setup_.exposed * (forward_(widths) + backward_(widths));
  Estimate estimate;
  for (std::size_t device = 0; device < compute.size(); ++device) {
    const Seconds held_up = setup_.inputs != nullptr ? setup_.inputs->held_up(device, indices) : Seconds{0};
    const Seconds time = compute[device] + held_up;
    estimate.compute.push_back(time);
    estimate.communication.push_back(exchange);
    estimate.total = std::max(estimate.total, time + exchange);
  }
  return estimate;
}

}  // namespace lockstep::sharding
