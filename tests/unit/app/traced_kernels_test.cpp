#include "app/traced_kernels.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

// A step of GPT-2 with 4 samples of 1,024 tokens on an H200: 824 kernels.
TEST(TracedKernels, are_rows_of_measured_kernels) {
  KernelMeasurements rows;
  const KernelImportReport report =
      import_traced_kernels(LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/gpt2_b4_bf16.kineto.json.gz",
                            {.gpu = "h200_141gb_boost"}, rows);
  EXPECT_EQ(report.used, rows.size());
  EXPECT_EQ(report.used + report.not_modelled, 824U);
  EXPECT_THAT(report.source, testing::HasSubstr("gpt2_b4_bf16.kineto.json.gz"));
  const auto products = std::ranges::count_if(rows, [](const KernelMeasurement& row) {
    const auto* product = std::get_if<Gemm>(&row.call.work);
    return product != nullptr && product->m == 4096 && product->n == 2304 && product->k == 768;
  });
  EXPECT_EQ(products, 12);  // queries, keys and values of each layer
  for (const KernelMeasurement& row : rows) {
    EXPECT_GT(row.time, 0.5_us);
    EXPECT_EQ(row.gpu, "h200_141gb_boost");
  }
  EXPECT_EQ(import_traced_kernels(LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/gpt2_b4_bf16.kineto.json.gz",
                                  {.gpu = "h200_141gb_boost", .shortest = 1_s}, rows)
                .used,
            0U);
}

// The trace says that its GPU has 132 multiprocessors.
TEST(TracedKernels, of_another_gpu_are_refused) {
  const std::string trace = LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/gpt2_b4_bf16.kineto.json.gz";
  KernelMeasurements rows;
  EXPECT_THAT(import_traced_kernels(trace, {.gpu = "h200_141gb_boost", .multiprocessors = 132}, rows).device,
              testing::HasSubstr("H200"));
  EXPECT_THAT(
      [&] { (void)import_traced_kernels(trace, {.gpu = "a100_40gb", .multiprocessors = 108}, rows); },
      testing::ThrowsMessage<InputError>(testing::HasSubstr("132 multiprocessors, a100_40gb has 108")));
}

TEST(TracedKernels, are_of_files_that_are_named_as_traces) {
  EXPECT_TRUE(is_trace_name("a/step.json"));
  EXPECT_TRUE(is_trace_name("step.pt.trace.json.gz"));
  EXPECT_FALSE(is_trace_name("gemm.csv.gz"));
}

}  // namespace
}  // namespace lockstep
