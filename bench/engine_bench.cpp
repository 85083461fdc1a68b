/// Times the pieces of the engine: a queue's push and pop, a factor of jitter, adding up activities. Also the
/// sharing of links among the collectives of a large machine (node rings, rails and all-to-alls of 64).

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "sim/activity_meter.hpp"
#include "sim/network/shared.hpp"
#include "sim/ring.hpp"
#include "sim/stream.hpp"
#include "sim/variation.hpp"
#include "tests/support/rail_fabric.hpp"

namespace {

using namespace lockstep;

void ring(benchmark::State& state) {
  const auto length = static_cast<std::uint32_t>(state.range(0));
  Ring<StreamItem> queue;
  for ([[maybe_unused]] auto once : state) {
    for (std::uint32_t i = 0; i < length; ++i) {
      queue.push({1e-6 * i, i, i});
    }
    while (!queue.empty()) {
      benchmark::DoNotOptimize(queue.front());
      queue.pop();
    }
  }
  state.SetItemsProcessed(state.iterations() * length);
}
BENCHMARK(ring)->Arg(8)->Arg(256);

void jitter(benchmark::State& state) {
  const Variation variation{Jitter{{Distribution::Lognormal, 0.1}}, Jitter{}, Random{1, "jitter"}};
  const Variation::Row row = variation.row(0, 0);
  std::uint32_t index = 0;
  for ([[maybe_unused]] auto once : state) {
    benchmark::DoNotOptimize(row.kernel(row.draw(index++)));
  }
}
BENCHMARK(jitter);

/// Two streams: kernels without gaps but for one in ten, and a collective every ten kernels.
void activity_sweep(benchmark::State& state) {
  ActivityMeter meter{2};
  double now = 0;
  std::int64_t intervals = 0;
  for ([[maybe_unused]] auto once : state) {
    while (!meter.is_full()) {
      meter.compute(0, now, now + 9e-5);
      meter.collective(1, CollectiveKind::AllReduce, now + 2e-5, now + 5e-5, now + 9.5e-5);
      now += 1e-4;
      intervals += 3;
    }
    meter.sweep(now);
  }
  state.SetItemsProcessed(intervals);
}
BENCHMARK(activity_sweep);

struct Traffic {
  std::vector<CollectivePlan> plans;
  std::vector<std::vector<VertexId>> members;
};

/// @param apart by rank number: members of a group lie this far apart
void add_groups(Traffic& traffic, const CollectivePlanner& planner, const Fabric& fabric, CollectiveKind kind,
                std::uint32_t size, std::uint32_t apart, double bytes) {
  const auto ranks = static_cast<std::uint32_t>(fabric.gpus().size());
  for (std::uint32_t first = 0; first < ranks; ++first) {
    if (first / apart % size != 0) {
      continue;
    }
    auto& members = traffic.members.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) {
      members.push_back(fabric.gpus()[first + i * apart]);
    }
    traffic.plans.push_back(planner.plan({kind, DataType::FP32, Bytes{bytes}, 0, 0, {}}, members));
  }
}

/// Every group repeats its collective, starting anew a little after the last one ended: dates all differ, so
/// that every start and end solves its component again (the worst case; aligned dates are solved together).
void shared_network(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const Fabric fabric = testing::rail_fabric(static_cast<int>(ranks / 8));
  const CollectivePlanner planner{fabric};
  Traffic traffic;
  add_groups(traffic, planner, fabric, CollectiveKind::AllReduce, 8, 1, 32e6);
  add_groups(traffic, planner, fabric, CollectiveKind::AllReduce, ranks / 8, 8, 2e6);
  if (state.range(1) != 0) {
    add_groups(traffic, planner, fabric, CollectiveKind::AllToAll, 64, 1, 8e6);
  }
  SharedNetwork network{fabric};
  for (const CollectivePlan& plan : traffic.plans) {
    network.prepare(plan);
  }
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> pause{0, 1e-5};
  double now = 0;
  for (std::uint32_t group = 0; group < traffic.plans.size(); ++group) {
    network.start(group, traffic.plans[group], traffic.members[group], now += 1e-9 * pause(random));
  }
  for ([[maybe_unused]] auto once : state) {
    now = network.next_completion();
    const TransferId group = network.complete_next();
    network.start(group, traffic.plans[group], traffic.members[group], now);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["groups"] = static_cast<double>(traffic.plans.size());
}
BENCHMARK(shared_network)
    ->ArgNames({"ranks", "all_to_all"})
    ->Args({64, 1})
    ->Args({512, 0})
    ->Args({512, 1})
    ->Args({1024, 1})
    ->Args({8192, 0})
    ->Args({16384, 1});

}  // namespace

BENCHMARK_MAIN();
