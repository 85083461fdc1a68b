#include "app/search/plan_reasons.hpp"

#include <gmock/gmock.h>

#include "ops/kernel_model.hpp"
#include "ops/workload/layers/torch_embedding_bag.hpp"
#include "search/embedding/device_loads.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Four equal tables on @p ranks V100.
ShardingProblem problem_on(int ranks, const std::string& model = "") {
  return test::problem_of({.tables = "{ rows: [100000], count: 4, dimension: 64, pooling_factor: 40 }",
                           .parallelism = "{ ranks: " + std::to_string(ranks) + " }",
                           .global_batch = 8192,
                           .model = model});
}

EmbeddingPlan plan_on(const std::vector<std::int64_t>& ranks) {
  EmbeddingPlan plan;
  for (std::int64_t table = 0; table < 4; ++table) {
    TableShardingSpec& entry = plan.tables.emplace_back();
    entry.tables = {table};
    entry.ranks = {ranks[static_cast<std::size_t>(table)]};
  }
  return plan;
}

std::string why(const ShardingProblem& problem, const Candidate& best, const Candidate& other) {
  return reasons(problem, {best, predict(problem.under(best.plan), nullptr, EngineMode::Bare)}, other);
}

TEST(PlanReasons, AreWhatIsLessAndNothingForAPlanThatLoses) {
  const ShardingProblem problem = problem_on(2);
  Candidate even{"even", plan_on({0, 1, 0, 1}), {}}, uneven{"uneven", plan_on({0, 0, 0, 1}), {}};
  even.step = problem.step_time(even.plan);
  uneven.step = problem.step_time(uneven.plan);
  // Two tables of four on the slowest rank in place of three.
  EXPECT_THAT(why(problem, even, uneven),
              AllOf(HasSubstr("why, against uneven: "), HasSubstr("look-ups of the slowest rank"),
                    HasSubstr("waiting in all_to_all (mean of ranks)"), Not(HasSubstr("host-bound"))));
  EXPECT_EQ(why(problem, uneven, even), "");
  EXPECT_EQ(why(problem, even, even), "");
}

/// A ring sends each rank's gradients of copies twice but for a part: of 2 ranks once, of 4 one and a half
/// times.
TEST(DeviceLoads, CountTheGradientsOfCopies) {
  for (const auto& [ranks, times] : {std::pair{2, 1.0}, std::pair{4, 1.5}}) {
    EmbeddingPlan plan = plan_on({0, 1, 0, 1});
    plan.tables[3].sharding = TableSharding::DataParallel;
    plan.tables[3].ranks.clear();
    const std::vector<DeviceLoad> with = device_loads(problem_on(ranks), plan);
    const Bytes of_copy = times * Bytes{4.0 * 100'000 * 64};
    // Table 1 is the only one there, and its rows go to the others: forward 64 columns, backward the 128 of
    // rank 0.
    const double samples = 8192.0 / ranks;
    EXPECT_EQ(with[1].sent, Bytes{samples * 4 * ((ranks - 1) * 64 + 128)} + of_copy) << ranks;
  }
}

/// Equal tables take each rank what its own GPU takes for them, whichever node is the first.
TEST(DeviceLoads, AreOfEachRanksOwnGpu) {
  const std::string v100 = "dgx1v", h100 = "dgx_h100";
  std::vector<Seconds> of_first, of_second;
  for (const auto& [first, second] : {std::pair{v100, h100}, std::pair{h100, v100}}) {
    const ShardingProblem problem =
        test::problem_of({.tables = "{ rows: [100000], count: 4, dimension: 64, pooling_factor: 40 }",
                          .parallelism = "{}",
                          .cluster = "{ nodes: [" + first + ", " + second + "] }",
                          .global_batch = 8192});
    const std::vector<DeviceLoad> loads = device_loads(problem, plan_on({0, 0, 8, 8}));
    of_first.push_back(loads[0].compute);
    of_second.push_back(loads[8].compute);
  }
  EXPECT_GT(of_first[0], 1.5 * of_second[0]);
  EXPECT_EQ(of_first[0], of_second[1]);
  EXPECT_EQ(of_second[0], of_first[1]);
}

/// Rows of a table in host memory come over PCIe before they are looked up: of 4096 x 40 look-ups each way,
/// 40 MB at 12 to 13 GB/s, where none is cached.
TEST(DeviceLoads, CountTheRowsThatComeFromHostMemory) {
  const ShardingProblem problem =
      test::problem_of({.tables = "{ rows: [100000000], count: 4, dimension: 64, pooling_factor: 40 }",
                        .parallelism = "{ ranks: 1 }"});
  EmbeddingPlan plan = plan_on({0, 0, 0, 0}), cached = plan;
  for (TableShardingSpec& entry : cached.tables) {
    entry.kernel = TableKernel::UvmCaching;
    entry.cache_load_factor = 0.01;
  }
  const Seconds more =
      device_loads(problem, cached).front().compute - device_loads(problem, plan).front().compute;
  const double moved = 4 * 4096.0 * 40 * 64 * 4 * 0.99;
  EXPECT_NEAR(more / (Bytes{moved} / problem.resolved().gpu_models.front().host_copy.pinned), 1, 0.03);
}

/// nn.EmbeddingBag: a kernel for each table, its values and their sum into the table.
TEST(DeviceLoads, AreThoseOfTheKernelsThatRun) {
  const ShardingProblem problem = problem_on(1, "embedding_kernels: embedding_bag, ");
  const EmbeddingTable& table = problem.task().tables.front().shape;
  const GpuSpec& gpu = problem.resolved().gpu_models.front();
  Seconds sum;
  for (const KernelCall& call : {kernels::bag_look_up(8192, table), kernels::bag_gradient(8192, table),
                                 kernels::bag_update(8192, table)}) {
    sum += 4 * model_for(call).predict(call, gpu).duration;
  }
  EXPECT_NEAR(device_loads(problem, plan_on({0, 0, 0, 0})).front().compute / sum, 1, 1e-12);
}

}  // namespace
}  // namespace lockstep
