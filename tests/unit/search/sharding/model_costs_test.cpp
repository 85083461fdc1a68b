#include "search/sharding/model_costs.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "search/sharding/method.hpp"
#include "tests/support/sharding_tasks.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep::sharding {
namespace {

struct Drawn {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, Drawn& drawn) {
    key.required("cluster", drawn.cluster, "the machine");
  }
};

/// V100 of a DGX-1V, on which nothing is exchanged: what is left are kernels.
class KernelCosts : public ::testing::Test {
 protected:
  [[nodiscard]] ModelCosts costs(std::int64_t batch, const InputCosts* inputs = nullptr) const {
    const ConfigPath configs = ConfigPath::standard();
    return {{.gpus = {read_file<GpuSpec>(configs.find("gpus", "v100_32gb"), configs)},
             .optimizer = Optimizer::Sgd,
             .batch = batch,
             .rows = 1e6,
             .inputs = inputs},
            nothing_,
            nothing_};
  }

  const Fabric fabric_ = read_text<Drawn>("{cluster: dgx1v x 1}", "machine").cluster->fabric();
  const CollectivePlanner planner_{fabric_};
  const ExchangeCosts nothing_{planner_, fabric_, fabric_.gpus().first(1), Bytes{1}, false};
};

/// Bytes of the passes beside the two kernels: 84 and 24 for each of 3 passes of a sort by 20 bits, 20 an
/// element.
double pass_bytes(double batch, const EmbeddingTable& table) {
  return batch * ((84 + 3 * 24) * table.pooling_factor + 20 * static_cast<double>(table.dimension));
}

TEST_F(KernelCosts, AreThoseOfTheKernelModels) {
  const std::int64_t batch = 32768;
  const ModelCosts costs = this->costs(batch);
  const GpuSpec gpu =
      read_file<GpuSpec>(ConfigPath::standard().find("gpus", "v100_32gb"), ConfigPath::standard());
  // Bound by DRAM; by the cache, wide and narrow; a long bag among short ones.
  const std::vector<std::vector<Table>> devices{
      {lockstep::testing::table(1'000, 64, 20), lockstep::testing::table(100'000, 64, 20),
       lockstep::testing::table(5'000'000, 64, 20)},
      {lockstep::testing::table(2'000, 128, 30), lockstep::testing::table(1'000, 8, 100)},
      {lockstep::testing::table(500, 8, 30), lockstep::testing::table(2'000, 16, 10)},
      {lockstep::testing::table(2'000'000, 16, 900), lockstep::testing::table(2'000'000, 128, 1)}};
  for (const std::vector<Table>& device : devices) {
    std::vector<EmbeddingTable> tables;
    Load load;
    double passes = 0;
    for (const Table& table : device) {
      tables.push_back(table.shape);
      load.add(costs.load_of(table, table.shape.dimension, 0));
      passes += pass_bytes(static_cast<double>(batch), table.shape);
    }
    Seconds expected = Bytes{passes} / (gpu.efficiency->memory * gpu.memory_bandwidth);
    for (const Direction direction : {Direction::Forward, Direction::Backward}) {
      const KernelCall call{"", DataType::FP32,
                            EmbeddingBags{.batch = batch, .tables = tables, .direction = direction}};
      expected += model_for(call).predict(call, gpu).duration;
    }
    EXPECT_NEAR(costs.compute(load) / expected, 1, 0.01) << device.front().shape.rows;
  }
}

TEST_F(KernelCosts, BoundIsBelowEveryPlan) {
  const ModelCosts costs = this->costs(4096);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Task tables = lockstep::testing::random_task(seed, 2 * seed, 3, 1e9);
    CachedCostModel cost_model{tables, costs};
    EXPECT_GT(costs.at_least(tables), Seconds{0});
    for (const char* name : {"size_greedy", "neuroshard", "lockstep"}) {
      EXPECT_LE(costs.at_least(tables),
                cost_model.estimate(method_called(name).search(cost_model, {}).value()).total)
          << seed;
    }
  }
}

TEST_F(KernelCosts, BoundIsNoLessThanATableThatCannotBeCut) {
  const ModelCosts costs = this->costs(4096);
  const Table narrow = lockstep::testing::table(1'000'000, 4, 1000);
  const Task tables =
      lockstep::testing::task({narrow, lockstep::testing::table(1000, 16, 2)}, 8);  // a GPU each, six idle
  const Seconds alone = costs.compute(costs.load_of(narrow, 4, 0));
  EXPECT_NEAR(costs.at_least(tables) / alone, 1, 1e-6);
}

TEST_F(KernelCosts, BoundCountsTheLookupsOfEachPiece) {
  const ModelCosts costs = this->costs(4096);
  const Table wide = lockstep::testing::table(1'000'000, 64, 200);
  const Seconds whole = costs.compute(costs.load_of(wide, 64, 0)),
                half = costs.compute(costs.load_of(wide, 32, 0));
  ASSERT_GT(half, 0.55 * whole);  // indices are sorted for each half
  EXPECT_NEAR(costs.at_least(lockstep::testing::task({wide}, 2)) / half, 1, 1e-6);
}

/// Two V100 and two H100: no plan is below the bound, `lockstep`'s is not far above, and the order of the
/// devices changes next to nothing.
TEST_F(KernelCosts, BoundOfUnlikeDevicesIsBelowEveryPlanAndNear) {
  const ConfigPath configs = ConfigPath::standard();
  std::vector<GpuSpec> gpus;
  for (const char* const name : {"v100_32gb", "h100_80gb"}) {
    gpus.push_back(read_file<GpuSpec>(configs.find("gpus", name), configs));
  }
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Task tables = lockstep::testing::random_task(seed, 30 + 2 * seed, 4, 1e9);
    std::vector<Seconds> found;
    for (const std::vector<std::uint32_t>& order :
         {std::vector<std::uint32_t>{0, 0, 1, 1}, std::vector<std::uint32_t>{1, 0, 1, 0}}) {
      const ModelCosts costs{
          {.gpus = gpus, .gpu_of_device = order, .batch = 65536, .rows = 1e6}, nothing_, nothing_};
      CachedCostModel cost_model{tables, costs};
      const Seconds bound = costs.at_least(tables);
      for (const char* const name : {"size_greedy", "neuroshard"}) {
        EXPECT_LE(bound, cost_model.estimate(method_called(name).search(cost_model, {}).value()).total)
            << seed << name;
      }
      found.push_back(cost_model.estimate(method_called("lockstep").search(cost_model, {}).value()).total);
      EXPECT_LE(bound, found.back()) << seed;
      EXPECT_GE(bound, 0.9 * found.back()) << seed;
    }
    EXPECT_NEAR(found[1] / found[0], 1, 0.02) << seed;
  }
}

/// V100 of two kinds have the bound of as many of one kind, but for the joint effect of tables on the cache.
TEST_F(KernelCosts, BoundOfKindsThatAreAlikeIsThatOfOneKind) {
  const ModelCosts alike = this->costs(4096);
  const ConfigPath configs = ConfigPath::standard();
  const auto gpu = read_file<GpuSpec>(configs.find("gpus", "v100_32gb"), configs);
  const ModelCosts kinds{
      {.gpus = {gpu, gpu}, .gpu_of_device = {0, 1, 1}, .batch = 4096, .rows = 1e6}, nothing_, nothing_};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Task tables = lockstep::testing::random_task(seed, 20, 3, 1e9);
    EXPECT_NEAR(kinds.at_least(tables) / alike.at_least(tables), 1, 0.02) << seed;
    EXPECT_LE(kinds.at_least(tables), 1.000001 * alike.at_least(tables)) << seed;
  }
}

/// GPUs of a DGX-1V share a link to the host in pairs, those of a DGX-2 in fours: copies take longer than
/// lookups.
TEST_F(KernelCosts, BoundIsBelowEveryPlanWhereInputsShareLinks) {
  const Fabric dgx2 = read_text<Drawn>("{cluster: dgx2 x 1}", "machine").cluster->fabric();
  for (const auto& [fabric, gpus] :
       {std::pair{&fabric_, 4U}, std::pair{&dgx2, 8U}, std::pair{&fabric_, 3U}}) {
    const InputCosts inputs{*fabric, fabric->gpus().first(gpus), std::vector(gpus, BytesPerSecond{12e9}),
                            Bytes{8.0 * 65536}};
    const ModelCosts costs = this->costs(65536, &inputs);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Task tables = lockstep::testing::random_task(seed, 3 * seed, gpus, 1e12);
      CachedCostModel cost_model{tables, costs};
      for (const char* name : {"size_greedy", "lookup_greedy", "neuroshard", "lockstep"}) {
        EXPECT_LE(costs.at_least(tables),
                  cost_model.estimate(method_called(name).search(cost_model, {}).value()).total)
            << seed << name;
      }
    }
  }
}

/// Two tables alike, one for each GPU of a pair: no other division is faster, and each waits for both copies.
TEST_F(KernelCosts, BoundHasBothCopiesOfAPair) {
  const InputCosts inputs{fabric_, fabric_.gpus().first(2), std::vector(2, BytesPerSecond{12e9}),
                          Bytes{8.0 * 65536}};
  const ModelCosts costs = this->costs(65536, &inputs);
  const Table narrow = lockstep::testing::table(1'000'000, 4, 40);
  const Task two = lockstep::testing::task({narrow, narrow}, 2);
  CachedCostModel cost_model{two, costs};
  const Seconds found =
      cost_model.estimate(method_called("lookup_greedy").search(cost_model, {}).value()).total;
  EXPECT_GT(found, costs.compute(costs.load_of(narrow, 4, 0)) + 0.5 * inputs.alone(0, 41));
  EXPECT_NEAR(costs.at_least(two) / found, 1, 0.01);
}

}  // namespace
}  // namespace lockstep::sharding
