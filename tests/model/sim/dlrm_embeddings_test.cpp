// Traffic of embeddings on the links, in closed form, and the effect of a filled pipeline on a step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "tests/support/embedding_job.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using Sharding = TableSharding;

/// On V100s with the calibrated kernel models, collectives as direct messages and rings on nothing but links.
SimulationResult simulated(const Job& job, const Fabric& fabric) {
  const CollectivePlanner planner{fabric, rings()};
  auto input = input_of(job, fabric, planner);
  input.gpu_models = {read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml")};
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  SimulationResult result = simulate(input, options, nullptr);
  for (const auto& [name, each] : every_engine(options)) {
    EXPECT_EQ(simulated_in_child(input, each), agreement_of(result)) << name;
  }
  return result;
}

/// Four GPUs with an NVLink each to a switch, and their PCIe.
struct SwitchedNode {
  SwitchedNode() {
    Sketch sketch;
    gpus = add_switched_node(sketch, 0, 4);
    const VertexId socket = sketch.add(VertexKind::CpuSocket, 0, 0, "node0.cpu0");
    for (const VertexId gpu : gpus) {
      sketch.connect(gpu, socket, LinkKind::Pcie, 12_GBps, Seconds{1e-6});
    }
    fabric = std::make_unique<Fabric>(sketch.fabric());
  }

  /// Bytes that each GPU sends over its NVLink in a step.
  [[nodiscard]] std::vector<double> sent(const PlannedJob& planned_job) const {
    const SimulationResult result = simulated(planned_job.job(), *fabric);
    std::vector<double> bytes(gpus.size(), 0);
    for (const LinkUse& use : result.links) {
      const Link& link = fabric->links()[use.link];
      for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        bytes[gpu] += link.kind == LinkKind::NvLink && link.from == gpus[gpu] ? use.bytes : 0;
      }
    }
    return bytes;
  }

  std::vector<VertexId> gpus;
  std::unique_ptr<Fabric> fabric;
};

/// Gradients of MLPs of 4 to 8 and of @p inputs to 1: a ring sends 2 (n - 1) / n of them.
double mlp_gradients(double inputs) {
  return 2 * 3.0 / 4 * 4 * (4 * 8 + 8 + inputs + 1);
}

/// 16 samples a rank, tables of 8, 8, 16 and 32 elements: forward rank r sends its rows of 16 samples to
/// three others, backward the gradients of three others' tables.
TEST(EmbeddingLinks, TableWise) {
  const SwitchedNode node;
  const PlannedJob planned_job{
      .spec = tables_only({{.rows = {100, 100}, .dimension = 8},
                           {.rows = {100}, .dimension = 16},
                           {.rows = {100}, .dimension = 32}}),
      .plan = {planned({0}, Sharding::TableWise, {0}), planned({1}, Sharding::TableWise, {1}),
               planned({2}, Sharding::TableWise, {2}), planned({3}, Sharding::TableWise, {3})},
      .gpus = node.gpus};
  const auto sent = node.sent(planned_job);
  const std::vector<double> width{8, 8, 16, 32};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_NEAR(sent[rank], 16 * 4 * (3 * width[rank] + 64 - width[rank]) + mlp_gradients(8 + 64), 1e-6);
  }
}

/// 64 samples of 24 elements: a reduce-scatter and an all-gather, each 3 / 4 of 64 x 24 x 4 bytes.
TEST(EmbeddingLinks, RowWise) {
  const SwitchedNode node;
  const PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 24}}),
                               .plan = {planned({0}, Sharding::RowWise)},
                               .gpus = node.gpus};
  for (const double bytes : node.sent(planned_job)) {
    EXPECT_NEAR(bytes, 2 * 3.0 / 4 * 64 * 24 * 4 + mlp_gradients(8 + 24), 1e-6);
  }
}

/// A copy on every rank: the whole table's gradient instead, 100 x 24 elements.
TEST(EmbeddingLinks, DataParallel) {
  const SwitchedNode node;
  const PlannedJob planned_job{.spec = tables_only({{.rows = {100}, .dimension = 24}}),
                               .plan = {planned({0}, Sharding::DataParallel)},
                               .gpus = node.gpus};
  for (const double bytes : node.sent(planned_job)) {
    EXPECT_NEAR(bytes, 2 * 3.0 / 4 * 100 * 24 * 4 + mlp_gradients(8 + 24), 1e-6);
  }
}

/// Steps of a DLRM whose inputs and lookups take about as long as everything else.
std::vector<double> step_times(bool input_distribution, InputPipeline pipeline) {
  const SwitchedNode node;
  PlannedJob planned_job{
      .spec = tables_only({{.rows = {100000}, .count = 8, .dimension = 32, .pooling_factor = 20}}),
      .plan = {planned({0, 1}, Sharding::TableWise, {0}), planned({2, 3}, Sharding::TableWise, {1}),
               planned({4}, Sharding::TableWise, {2}), planned({5}, Sharding::TableWise, {3}),
               planned({6, 7}, Sharding::RowWise)},
      .batch = 16384,
      .input_distribution = input_distribution,
      .pipeline = pipeline,
      .gpus = node.gpus};
  planned_job.spec.bottom_mlp = {64, 1024, 1024, 32};
  Job job = planned_job.job();
  job.steps = 5;
  const SimulationResult result = simulated(job, *node.fabric);
  std::vector<double> times;
  double before = 0;
  for (const double end : result.step_ends) {
    times.push_back(end - before);
    before = end;
  }
  return times;
}

/// Steady from the third step on, shorter than without a pipeline, but no shorter than a step whose indices
/// arrive by themselves. The first step, with nothing to wait for, lies in between as well.
TEST(EmbeddingPipeline, ASteadyStepIsShorter) {
  const auto plain = step_times(true, InputPipeline::None);
  const auto pipelined = step_times(true, InputPipeline::SparseDist);
  const auto bare = step_times(false, InputPipeline::SparseDist);
  for (std::size_t step = 3; step < 5; ++step) {
    EXPECT_NEAR(pipelined[step], pipelined[2], 1e-9);
  }
  EXPECT_LT(pipelined[4], 0.95 * plain[4]);
  EXPECT_GT(pipelined[4], bare[4]);
  EXPECT_LT(pipelined[0], plain[0]);
  EXPECT_GT(pipelined[0], bare[0]);
}

}  // namespace
}  // namespace lockstep::testing
