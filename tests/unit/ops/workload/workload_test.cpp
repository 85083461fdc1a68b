#include "ops/workload/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

/// The two lines of a scenario that say what is trained and how it is spread.
struct Scenario {
  WorkloadSpec workload;
  ParallelismSpec parallelism;

  template <class Visitor>
  static void describe(Visitor& key, Scenario& scenario) {
    key.required("workload", scenario.workload, "what is trained");
    key.optional("parallelism", scenario.parallelism, ParallelismSpec{}, "how it is spread");
  }
};

Scenario read(const std::string& text) {
  return read_text<Scenario>(text, "scenario.yaml", ConfigPath{{LOCKSTEP_SOURCE_DIR}});
}

/// Four GPUs around a switch.
Fabric four_gpus() {
  std::vector<Vertex> vertices{
      {.kind = VertexKind::NvSwitch, .node = 0, .index = 0, .name = "switch", .model = {}},
      {.kind = VertexKind::CpuSocket, .node = 0, .index = 0, .name = "cpu", .model = {}}};
  std::vector<Link> links;
  const auto connect = [&](VertexId a, VertexId b, LinkKind kind) {
    links.push_back({a, b, kind, 25_GBps, 1_us, vertices[a].name + "->" + vertices[b].name});
    links.push_back({b, a, kind, 25_GBps, 1_us, vertices[b].name + "->" + vertices[a].name});
  };
  connect(0, 1, LinkKind::Pcie);
  for (int gpu = 0; gpu < 4; ++gpu) {
    vertices.push_back({.kind = VertexKind::Gpu,
                        .node = 0,
                        .index = gpu,
                        .name = "gpu" + std::to_string(gpu),
                        .model = "any"});
    connect(0, static_cast<VertexId>(2 + gpu), LinkKind::NvLink);
  }
  return {vertices, links};
}

Job job_of(const Scenario& scenario, Bytes memory = 80_GB) {
  const std::vector<Bytes> memories(4, memory);
  return make_job(scenario.workload, scenario.parallelism, four_gpus(), plain_host(), memories);
}

TEST(Workload, TheArchitecturesSentenceIsAJob) {
  const Scenario scenario = read(
      "workload: { model: dlrm_mlperf, global_batch: 65536, precision: fp32 }\n"
      "parallelism: { embedding: { planner: size_lookup_greedy }, dense: data, bucket: 25 MiB }\n");
  const Job job = job_of(scenario);
  EXPECT_NO_THROW(check(job));
  ASSERT_EQ(job.ranks.size(), 4U);
  EXPECT_EQ(job.ranks[3].gpu, 5U);
  EXPECT_EQ(job.groups.at(0).ranks.size(), 4U);
}

TEST(Workload, ASmallerNumberOfRanksTakesTheFirstGpus) {
  const Job job =
      job_of(read("workload: { model: gpt2, global_batch: 2, sequence: 64 }\nparallelism: { ranks: 2 }\n"));
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[1].gpu, 3U);
  EXPECT_THROW((void)job_of(read("workload: { model: gpt2, global_batch: 5 }\nparallelism: { ranks: 5 }\n")),
               std::invalid_argument);
}

TEST(Workload, ModelsCanBeChangedInPlace) {
  const Scenario scenario = read(
      "workload: { model: { from: gpt2, transformer: { attention: flash } }, global_batch: 4, precision: "
      "bf16 }\n");
  const Job job = job_of(scenario);
  const auto is_flash = [](const KernelCall& kernel) {
    return std::holds_alternative<FlashAttention>(kernel.work);
  };
  EXPECT_TRUE(std::any_of(job.programs[0]->kernels.begin(), job.programs[0]->kernels.end(), is_flash));
}

TEST(Workload, TablesThatDoNotFitAreRefusedUnlessToldOtherwise) {
  const std::string workload = "workload: { model: dlrm_mlperf, global_batch: 2048 }\n";
  EXPECT_THAT([&] { (void)job_of(read(workload), 16_GB); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("fits on no GPU")));
  EXPECT_NO_THROW(
      (void)job_of(read(workload + "parallelism: { embedding: { respect_memory: false } }\n"), 16_GB));
}

void expect_refused(const std::string& text, const std::string& message) {
  EXPECT_THAT([&] { (void)read(text); }, ::testing::ThrowsMessage<InputError>(HasSubstr(message))) << text;
}

TEST(Workload, MistakesAreNamedWhereTheyAre) {
  expect_refused("workload: { model: gtp2, global_batch: 4 }\n", "gpt2");
  expect_refused("workload: { model: gpt2, global_batch: 0 }\n", "at least 1 sample is needed");
  expect_refused("workload: { model: gpt2, global_batch: 4, sequence: 4096 }\n",
                 "between 2 and the model's 1024 positions");
  expect_refused("workload: { model: dlrm_ddp, global_batch: 4, clip_gradients: true }\n",
                 "neither accumulates nor clips");
  expect_refused("workload: { model: gpt2, global_batch: 4, precision: fp64 }\n", "fp32");
  expect_refused("workload: { model: gpt2, global_batch: 4, loader: { workers: 4 } }\n",
                 "workers need something to do: say 'time_per_sample'");
  expect_refused("workload: { model: gpt2, global_batch: 4, loader: { cores: 0 } }\n", "at least 1 core");
  expect_refused(
      "workload: { model: gpt2, global_batch: 4 }\nparallelism: { embedding: { memory_share: 2 } }\n",
      "'memory_share' is a fraction above 0, at most 1");
  expect_refused("workload: { model: { name: none, source: test }, global_batch: 4 }\n",
                 "one of 'dlrm:', 'transformer:', 'encoder_decoder:', 'xlnet:' and 'cnn:'");
  expect_refused(
      "workload: { model: { from: dlrm_ddp, dlrm: { bottom_mlp: [128, 64] } }, global_batch: 4 }\n",
      "as wide as the bottom MLP's output (64), not 128");
}

}  // namespace
}  // namespace lockstep
