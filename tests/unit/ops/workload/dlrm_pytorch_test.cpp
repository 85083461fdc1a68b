/// @file
/// A DLRM of nn.EmbeddingBag: its kernels against those of a recorded step (tests/data/h200_steps), and what
/// it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/yaml_reader.hpp"
#include "ops/workload/dlrm.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/optimizer_host.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"
#include "tests/support/plan_job.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

ModelSpec model() {
  return read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/dlrm_pytorch.yaml");
}

Job job_of(const ModelSpec& model, std::int64_t batch, Precision precision = Precision::TF32,
           std::vector<VertexId> gpus = {0}) {
  const std::vector<Bytes> memory(gpus.size(), 80_GB);
  return dlrm_job(model.dlrm.value(), {.global_batch = batch,
                                       .precision = precision,
                                       .framework = model.framework,
                                       .parallelism = {},
                                       .host = plain_host(),
                                       .gradient_accumulation = 1,
                                       .clip_gradients = false,
                                       .gpus = gpus,
                                       .gpu_memory = memory});
}

std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 13> kKinds{{{"EmbeddingBag", "embedding bag"},
                                                                        {"vectorized_gather", "gather"},
                                                                        {"indexFunc", "add rows"},
                                                                        {"index_elementwise", "index"},
                                                                        {"indexing_backward", "index bwd"},
                                                                        {"arange", "arange"},
                                                                        {"RadixSort", "sort"},
                                                                        {"CatArray", "concat"},
                                                                        {"reduce_kernel", "reduce"},
                                                                        {"elementwise", "elementwise"},
                                                                        {"gemm", "product"},
                                                                        {"gemv", "product"},
                                                                        {"fill", "elementwise"}}};
  return testing::first_kind(kernel, kKinds);
}

/// Kinds of what the GPU did, in order.
std::vector<std::string> recorded() {
  const auto trace = nlohmann::json::parse(
      gzip_text(LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/dlrm_b2048_tf32.kineto.json.gz"));
  std::map<double, std::string> kernels;  // by start
  for (const auto& event : trace.at("traceEvents")) {
    if (event.value("cat", "") == "kernel" && !testing::is_library_choice(event.at("name"))) {
      kernels.emplace(event.at("ts"), event.at("name"));
    }
  }
  std::vector<std::string> kinds;
  std::ranges::transform(kernels, std::back_inserter(kinds),
                         [](const auto& kernel) { return kind_of(kernel.second); });
  return kinds;
}

TEST(DlrmPytorch, LaunchesTheKernelsOfARecordedStep) {
  std::vector<std::string> ours;
  for (const ListedOperator& op : operators_of(job_of(model(), 2048))) {
    std::ranges::transform(op.kernels, std::back_inserter(ours), kind_of);
  }
  std::vector<std::string> theirs = recorded();
  // torch.optim goes through the tables between the MLPs, here behind both.
  constexpr std::size_t kParameters = 16, kTables = 8;
  const auto update = static_cast<std::ptrdiff_t>(kParameters + kTables);
  std::sort(ours.end() - update, ours.end());
  std::sort(theirs.end() - update, theirs.end());
  EXPECT_EQ(ours, theirs);
}

/// The values of the gradient are a row for each lookup; offsets are made where indices have two dimensions.
TEST(DlrmPytorch, GathersARowOfTheGradientForEachLookUp) {
  ModelSpec pooled = model();
  pooled.dlrm->tables.front().pooling_factor = 20;
  pooled.dlrm->fixed_bags = false;
  const Job job = job_of(pooled, 512);
  int gathers = 0;
  for (const KernelCall& kernel : job.programs.front()->kernels) {
    if (const auto* gather = std::get_if<IndexSelect>(&kernel.work)) {
      EXPECT_EQ(gather->picks, 512 * 20);
      EXPECT_EQ(gather->table_rows, 512);
      EXPECT_EQ(gather->columns, 64);
      ++gathers;
    }
    if (kernel.name.find("arange") !=
        std::string::npos) {  // the interaction's, of its pairs: offsets are given
      EXPECT_EQ(std::get<Pointwise>(kernel.work).elements, 36);
    }
  }
  EXPECT_GE(gathers, 1);
}

/// PyTorch's allocator had at most 2,195,675,136 B in use (calibration/measurements/h200/steps.csv), cuBLAS's
/// workspaces of 32 MiB among them.
TEST(DlrmPytorch, NeedsTheMemoryThatWasSeen) {
  const MemoryBreakdown memory = job_of(model(), 2048).memory.front();
  double sum = 2 * 32 * 1024 * 1024;
  for (const auto use :
       {MemoryUse::Parameters, MemoryUse::Gradients, MemoryUse::Activations, MemoryUse::Workspace}) {
    sum += memory[use];
  }
  EXPECT_NEAR(sum / 2195675136, 1, 0.01);
}

ModelSpec with_dense_gradients() {
  ModelSpec dense = model();
  dense.dlrm->sparse_gradients = false;
  dense.dlrm->tables.front().rows = {100000};
  return dense;
}

/// The gradient of a table, without sparse=True, is as large as the table: zeros into which lookups, sorted
/// by row, are summed (kernels of dlrm_dense, calibration/measurements/h200/variant_kernels.csv). torch.optim
/// takes the tables with all other parameters at once.
TEST(DlrmPytorch, SumsLookUpsIntoZerosOfTheTableWithoutSparseGradients) {
  std::map<std::string, int> launches;
  std::int64_t updated = 0;
  for (const ListedOperator& op : operators_of(job_of(with_dense_gradients(), 2048))) {
    for (const std::string& kernel : op.kernels) {
      ++launches[kernel];
    }
  }
  for (const char* const kernel :
       {"compute_grad_weight", "sum_and_scatter", "DeviceUniqueByKeySweepKernel"}) {
    EXPECT_EQ(launches[kernel], 8) << kernel;
  }
  EXPECT_EQ(launches["DeviceRadixSortSingleTileKernel"], 9);  // and the interaction's
  EXPECT_EQ(launches["vectorized_gather_kernel"], 0);
  EXPECT_EQ(launches["multi_tensor_apply_kernel<add>"], 3);
  const Job job = job_of(with_dense_gradients(), 2048);
  for (const KernelCall& kernel : job.programs.front()->kernels) {
    if (const auto* update = std::get_if<OptimizerUpdate>(&kernel.work)) {
      updated += update->parameters;
    }
  }
  EXPECT_GE(updated, 8 * 100000 * 64);
}

/// 16 tensors of MLPs and 8 tables: dropped gradients, lists of them by type, and of one operator.
TEST(DlrmPytorch, GoesThroughParametersInPython) {
  const double t1 = plain_host().between_operators.in_base_units();
  const double shares = OptimizerHost::kZero + OptimizerHost::kGroup + OptimizerHost::kList;
  EXPECT_NEAR(host_seconds(job_of(with_dense_gradients(), 2048), kOptimizerHost), 24 * shares * t1, 1e-9);
}

/// At most 514,671,104 B were in use (dlrm_dense with 2,048 samples,
/// calibration/measurements/h200/variants.csv).
TEST(DlrmPytorch, DenseGradientsNeedTheMemoryThatWasSeen) {
  const MemoryBreakdown memory = job_of(with_dense_gradients(), 2048).memory.front();
  double sum = 2 * 32 * 1024 * 1024;
  for (const auto use :
       {MemoryUse::Parameters, MemoryUse::Gradients, MemoryUse::Activations, MemoryUse::Workspace}) {
    sum += memory[use];
  }
  EXPECT_NEAR(sum / 514671104, 1, 0.03);
}

TEST(DlrmPytorch, IsRefusedWhereItDoesNotExist) {
  const auto refusal = [](const auto& change, const char* why) {
    ModelSpec changed = model();
    change(*changed.dlrm);
    EXPECT_THAT([&] { changed.dlrm->check(); }, ::testing::ThrowsMessage<FieldError>(HasSubstr(why)));
  };
  refusal([](DlrmSpec& spec) { spec.optimizer = DlrmOptimizer::Adagrad; }, "added by 'optimizer: sgd'");
  refusal([](DlrmSpec& spec) { spec.embedding_kernels = EmbeddingKernels::Fbgemm; },
          "is of 'embedding_kernels: embedding_bag'");
  refusal(
      [](DlrmSpec& spec) {
        spec.fixed_bags = spec.casts_rows = spec.sparse_gradients = false;
        spec.embedding_kernels = EmbeddingKernels::Fbgemm;
      },
      "is of 'embedding_kernels: embedding_bag'");
  refusal(
      [](DlrmSpec& spec) {
        spec.sparse_gradients = false;
        spec.optimizer = DlrmOptimizer::RowWiseAdagrad;
      },
      "rowwise_adagrad is FBGEMM's");
  refusal([](DlrmSpec& spec) { spec.tables.front().pooling_factor = 1.5; }, "whole number, not 1.5");
  EXPECT_THAT(
      [] {
        (void)job_of(model(), 2048, Precision::TF32, {0, 1});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("trains on one GPU, not 2")));
}

}  // namespace
}  // namespace lockstep
