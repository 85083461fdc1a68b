/// @file
/// Embedding tables in host memory against closed forms: which rows cross PCIe, how long that takes, and what
/// is left on the GPU.

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "ops/kernels/embedding_rows.hpp"
#include "ops/kernels/host_traffic.hpp"
#include "ops/kernels/index_model.hpp"
#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

constexpr double kRow = 128 * 4;
constexpr double kPinned = 12.3e9;  // configs/gpus/v100_16gb.yaml

EmbeddingTable host_table(double cache = 0, double reuse = 0) {
  return {.rows = 1'000'000,
          .dimension = 128,
          .pooling_factor = 10,
          .reuse_factor = reuse,
          .location = cache > 0 ? TableLocation::HostCached : TableLocation::Host,
          .cache_load_factor = cache};
}

KernelCall look_up(const EmbeddingTable& table, Direction direction) {
  return {"lookup", DataType::FP32, EmbeddingBags{.batch = 4096, .tables = {table}, .direction = direction}};
}

double seconds(const KernelCall& call) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_16gb.yaml");
  const auto* const bags = std::get_if<EmbeddingBags>(&call.work);
  const bool forward = bags != nullptr && bags->direction == Direction::Forward;
  const Seconds least = gpu.kernel_minimum + (forward ? gpu.efficiency->first_row : Seconds{0});
  return (model_for(call).predict(call, gpu).duration - least) / Seconds{1};
}

/// Each of the 40960 lookups brings its row; backward reads and writes each of the
/// 1e6 (1 - (1 - 1e-6)^40960) different rows once. PCIe is what takes longest.
TEST(HostTables, EveryLookupCrossesAndEveryUpdateReturns) {
  const double distinct = 1e6 * (1 - std::pow(1 - 1e-6, 40960));
  const KernelCall forward = look_up(host_table(), Direction::Forward);
  EXPECT_DOUBLE_EQ(host_traffic(forward).to_device / Bytes{1}, 40960 * kRow);
  EXPECT_EQ(host_traffic(forward).to_host, Bytes{0});
  EXPECT_NEAR(seconds(forward), 40960 * kRow / kPinned, 1e-9);
  const KernelCall backward = look_up(host_table(), Direction::Backward);
  EXPECT_NEAR(host_traffic(backward).to_device / Bytes{1}, distinct * kRow, 1e-3);
  EXPECT_EQ(host_traffic(backward).to_host, host_traffic(backward).to_device);
  EXPECT_NEAR(seconds(backward), distinct * kRow / kPinned, 1e-12);
}

/// Uniform indices: a row is in the cache with the probability of its share, whatever the cache replaces.
TEST(HostTables, UniformRowsMissByTheShareOfTheCache) {
  const BatchRows rows = batch_rows(host_table(0.25), 40960);
  const double distinct = 1e6 * (1 - std::pow(1 - 1e-6, 40960));
  EXPECT_NEAR(rows.inserted, 0.75 * distinct, 1e-6 * distinct);
  EXPECT_DOUBLE_EQ(rows.gpu_lookups, 40960);
  EXPECT_EQ(rows.host_lookups, 0);
  KernelCall insert{"insert", DataType::FP32,
                    EmbeddingCacheInsert{.batch = 4096, .tables = {host_table(0.25)}}};
  EXPECT_NEAR(seconds(insert), 0.75 * distinct * kRow / kPinned, 1e-8);
}

/// 10000 places for d different rows: 1e4 / d of them come into the cache, 1 % of which was there; the
/// others' lookups read host memory.
TEST(HostTables, WhatFindsNoPlaceIsReadWhereItIs) {
  const BatchRows rows = batch_rows(host_table(0.01), 40960);
  const double distinct = 1e6 * (1 - std::pow(1 - 1e-6, 40960));
  EXPECT_NEAR(rows.gpu_distinct, 1e4, 1e-6);
  EXPECT_NEAR(rows.host_lookups, 40960 * (1 - 1e4 / distinct), 1e-6);
  EXPECT_NEAR(rows.inserted, 1e4 - 0.01 * distinct, 1e-4);
}

/// The more lookups meet in the same rows, the fewer of a batch's different rows a cache lacks; and a cache
/// of all rows lacks none.
TEST(HostTables, SkewMakesACacheBetter) {
  double before = 1;
  for (const double reuse : {0.0, 1.5, 3.0, 10.0, 30.0}) {
    const EmbeddingTable table = host_table(0.1, reuse);
    const double missed = batch_rows(table, 40960).inserted / distinct_rows(table, 40960);
    EXPECT_LT(missed, before) << reuse;
    EXPECT_GT(missed, 0) << reuse;
    before = missed;
  }
  EXPECT_LT(before, 0.5);
  EXPECT_EQ(batch_rows(host_table(1, 3), 40960).inserted, 0);
}

/// Rows of popularities w: what is missing by a bisection for how long a row stays, E[1 - exp(-T w)] = 0.1 in
/// draws of a mean row; the same whatever was asked in between.
TEST(HostTables, ACacheLacksWhatHasNotBeenLookedUpForLong) {
  EmbeddingTable table = host_table(0.1);
  table.index_skew = 2;
  const double skew = 2 * std::numbers::ln2, uses = 0.04096;
  double low = 0, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (touched_share(skew, middle) < 0.1 ? low : high) = middle;
  }
  const double expected = 1e6 * mean_over_popularities(skew, [&](double w) {
                            return -std::expm1(-uses * w) * std::exp(-low * w);
                          });
  const double missed = batch_rows(table, 40960).inserted;
  EXPECT_NEAR(missed, expected, 1e-9 * expected);
  EXPECT_NE(batch_rows(host_table(0.1, 3), 40960).inserted, missed);
  EXPECT_EQ(batch_rows(table, 40960).inserted, missed);
}

PlannedJob job_with(TableKernel kernel, DlrmOptimizer optimizer = DlrmOptimizer::Sgd) {
  PlannedJob planned_job{.spec = tables_only({{.rows = {64000, 32000}, .dimension = 8}}),
                         .plan = {planned({0, 1}, TableSharding::TableWise, {0})},
                         .nodes = {0}};
  planned_job.plan.front().kernel = kernel;
  planned_job.spec.optimizer = optimizer;
  return planned_job;
}

/// 96000 rows of 8 elements. Cached: 0.2 of them, 19200 = 600 sets of 32, and 4 B a row, 16 B a place.
/// Row-wise Adagrad keeps a number for each row, wherever it is.
TEST(HostTables, OnlyTheCacheIsOnTheGpu) {
  const auto part = [](TableKernel kernel, DlrmOptimizer optimizer, MemoryUse use) {
    return job_with(kernel, optimizer).job().memory.at(0)[use];
  };
  const auto parameters = [&](TableKernel kernel) {
    return part(kernel, DlrmOptimizer::Sgd, MemoryUse::Parameters);
  };
  constexpr double kTables = 96000 * 8 * 4;
  EXPECT_DOUBLE_EQ(parameters(TableKernel::Fused) - parameters(TableKernel::Uvm), kTables);
  EXPECT_DOUBLE_EQ(parameters(TableKernel::UvmCaching) - parameters(TableKernel::Uvm),
                   19200 * 8 * 4 + 4 * 96000 + 16 * 19200);
  const auto on_host = [](TableKernel kernel) {
    return job_with(kernel).job().host_memory.at(0).total().in_base_units();
  };
  EXPECT_EQ(on_host(TableKernel::Fused), 0);
  EXPECT_DOUBLE_EQ(on_host(TableKernel::Uvm), kTables);
  EXPECT_DOUBLE_EQ(on_host(TableKernel::UvmCaching), kTables);
  const auto states = [&](TableKernel kernel) {
    return part(kernel, DlrmOptimizer::RowWiseAdagrad, MemoryUse::Optimizer);
  };
  EXPECT_DOUBLE_EQ(states(TableKernel::Fused), states(TableKernel::Uvm));
  EXPECT_DOUBLE_EQ(
      part(TableKernel::Fused, DlrmOptimizer::Adagrad, MemoryUse::Optimizer) - states(TableKernel::Fused),
      kTables - 96000 * 4);
  EXPECT_THAT([&] { (void)part(TableKernel::Uvm, DlrmOptimizer::Adagrad, MemoryUse::Optimizer); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("rowwise_adagrad")));
}

/// The plan counts what is on the GPU: nothing of tables in host memory; of cached ones a fifth and where its
/// rows are; what row-wise Adagrad keeps for each row of both.
TEST(HostTables, ThePlansBudgetIsTheGpus) {
  constexpr double kTables = 96000 * 8 * 4;
  const Bytes fifth{(0.2 * kTables + 4 * 96000 + 16 * 19200) / 0.8};  // memory_share 0.8
  EXPECT_NO_THROW((void)job_with(TableKernel::Uvm).job(Bytes{1000}));
  EXPECT_NO_THROW((void)job_with(TableKernel::UvmCaching).job(1.001 * fifth));
  EXPECT_THROW((void)job_with(TableKernel::UvmCaching).job(0.999 * fifth), InputError);
  const auto row_wise = job_with(TableKernel::Uvm, DlrmOptimizer::RowWiseAdagrad);
  const Bytes sums{4 * 96000 / 0.8};
  EXPECT_NO_THROW((void)row_wise.job(1.001 * sums));
  EXPECT_THROW((void)row_wise.job(0.999 * sums), InputError);
}

TEST(HostTables, APlanReadsBackAsWritten) {
  EmbeddingPlan plan;
  plan.tables = {planned({0}, TableSharding::RowWise), planned({1}, TableSharding::TableWise, {0})};
  plan.tables[0].kernel = TableKernel::UvmCaching;
  plan.tables[0].cache_load_factor = 0.05;
  plan.tables[1].kernel = TableKernel::Uvm;
  const std::string text = plan_text(plan, "by hand");
  EXPECT_EQ(plan_text(read_text<EmbeddingPlan>(text, "plan.yaml"), "by hand"), text);
}

}  // namespace
}  // namespace lockstep
