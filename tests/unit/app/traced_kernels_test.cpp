#include "app/traced_kernels.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

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
  EXPECT_THAT(report.source, ::testing::HasSubstr("gpt2_b4_bf16.kineto.json.gz"));
  const auto products = std::ranges::count_if(rows, [](const KernelMeasurement& row) {
    const auto* product = std::get_if<Gemm>(&row.call.work);
    return product != nullptr && product->m == 4096 && product->n == 2304 && product->k == 768;
  });
  EXPECT_EQ(products, 12);  // queries, keys and values of each layer
  for (const KernelMeasurement& row : rows) {
    EXPECT_GT(row.time, 0.5_us);
    EXPECT_EQ(row.gpu, "h200_141gb_boost");
  }
  EXPECT_EQ(
      import_traced_kernels(
          LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/gpt2_b4_bf16.kineto.json.gz",
          {.gpu = "h200_141gb_boost", .shortest = 1_s, .expected = [](const KernelCall&) { return 0.9_s; }},
          rows)
          .used,
      0U);
}

// The trace says that its GPU has 132 multiprocessors.
TEST(TracedKernels, of_another_gpu_are_refused) {
  const std::string trace = LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/gpt2_b4_bf16.kineto.json.gz";
  KernelMeasurements rows;
  EXPECT_THAT(import_traced_kernels(trace, {.gpu = "h200_141gb_boost", .multiprocessors = 132}, rows).device,
              ::testing::HasSubstr("H200"));
  EXPECT_THAT(
      [&] { (void)import_traced_kernels(trace, {.gpu = "a100_40gb", .multiprocessors = 108}, rows); },
      ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("132 multiprocessors, a100_40gb has 108")));
}

// BERT on an H200, whose driver counts 150.1 GB.
TEST(TracedKernels, say_how_they_go_through_their_operands) {
  KernelMeasurements rows;
  const KernelImportReport report =
      import_traced_kernels(LOCKSTEP_SOURCE_DIR "/tests/data/h200_steps/bert_b8_tf32.kineto.json.gz",
                            {.gpu = "h200_141gb_boost"}, rows);
  EXPECT_EQ(report.memory, Bytes{150'109'880'320.0});
  EXPECT_EQ(report.strided, 12U);  // masks, [8, 12, 512] of strides 6144, 1, 12
  EXPECT_EQ(std::ranges::count_if(rows,
                                  [](const KernelMeasurement& row) {
                                    const auto* work = std::get_if<Pointwise>(&row.call.work);
                                    return work != nullptr && work->instructions > 0;
                                  }),
            1);  // positions [512, 768] added to 8 samples
}

// Three products of one stream, the second beside a collective on another.
TEST(TracedKernels, beside_others_are_left_out) {
  std::string events;
  for (const int start : {1000, 2000, 3000}) {
    events += fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": {0}, "dur": 30, "args": {{"External id": {0}, "Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"]}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": {1}, "dur": 5, "args": {{"correlation": {0}, "External id": {0}}}}},
{{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": {2}, "dur": 40, "args": {{"device": 0, "stream": 7, "correlation": {0}, "External id": {0}}}}},
)",
        start, start + 10, start + 20);
  }
  const test::ScratchFolder folder;
  const auto file = folder.path() / "step.json";
  write_whole_file(
      file,
      R"({"traceEvents": [)" + events +
          R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "pid": 0, "tid": 20, "ts": 2050, "dur": 400, "args": {"device": 0, "stream": 20, "correlation": 4000}}
]})");
  KernelMeasurements rows;
  const KernelImportReport report = import_traced_kernels(file, {.gpu = "v100_16gb"}, rows);
  EXPECT_EQ(report.used, 2U);
  EXPECT_EQ(report.beside_others, 1U);
  EXPECT_EQ(report.not_modelled, 1U);
}

TEST(TracedKernels, are_of_files_that_are_named_as_traces) {
  EXPECT_TRUE(is_trace_name("a/step.json"));
  EXPECT_TRUE(is_trace_name("step.pt.trace.json.gz"));
  EXPECT_FALSE(is_trace_name("gemm.csv.gz"));
}

}  // namespace
}  // namespace lockstep
