#include "calibration/kernels/kernel_measurements.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/kernels/kernel_import.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

class KernelTables : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& text) {
    const auto path = folder_.path() / "table.csv";
    folder_.write("table.csv", text);
    return path;
  }
  std::string complaint_of(const std::string& text) {
    try {
      (void)read_kernel_csv({file(text)});
      return "";
    } catch (const InputError& problem) {
      return problem.what();
    }
  }
  KernelImportReport imported(const std::string& text, const KernelImportOptions& options) {
    return import_kernel_table(file(text), options, rows_);
  }

  test::ScratchFolder folder_;
  KernelMeasurements rows_;
};

TEST_F(KernelTables, what_is_written_reads_back) {
  EmbeddingBags bags{.batch = 2048,
                     .tables = {{1'000'000, 128, 32, 1.25}, {500, 64, 1.5, 0}},
                     .direction = Direction::Backward,
                     .optimizer = Optimizer::Adagrad};
  const Convolution convolution{.batch = 2,
                                .in_channels = 3,
                                .out_channels = 4,
                                .height = 28,
                                .width = 28,
                                .filter_height = 3,
                                .filter_width = 3,
                                .stride = 2,
                                .padding_height = 0,
                                .padding_width = 0};
  Convolution gradient = convolution;
  gradient.pass = Convolution::Pass::WeightGradient;
  gradient.channels_first = true;
  gradient.tuned = true;
  const FlashAttention attention{.batch = 2,
                                 .heads = 16,
                                 .queries = 4096,
                                 .keys = 8192,
                                 .head_size = 64,
                                 .causal = false,
                                 .direction = Direction::Backward,
                                 .version = FlashVersion::CuDnn};
  const KernelMeasurements rows{
      {"p100_16gb_pcie", {"gemm", DataType::FP32, Gemm{4, 1, 2, 3, false, true}}, 5_us},
      {"p100_16gb_pcie", {"softmax", DataType::FP16, Softmax{7, 8}}, 6_us},
      {"p100_16gb_pcie", {"layer_norm", DataType::BF16, LayerNorm{7, 8}}, 6.5_us},
      {"p100_16gb_pcie", {"pointwise", DataType::FP32, Pointwise{100, 2, 1, 1}}, 7_us},
      {"p100_16gb_pcie",
       {"pointwise", DataType::FP32, Pointwise{.elements = 9, .reads = 1, .instructions = 22}},
       7_us},
      {"p100_16gb_pcie", {"attention_backward", DataType::BF16, attention}, 9.5_us},
      {"p100_16gb_pcie", {"convolution", DataType::FP32, convolution}, 9_us},
      {"p100_16gb_pcie", {"convolution", DataType::BF16, gradient}, 9_us},
      {"p100_16gb_pcie", {"embedding_backward", DataType::FP32, bags}, 8_us}};
  const KernelMeasurements read = read_kernel_csv({file(kernel_csv(rows))});
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read[i].gpu, rows[i].gpu);
    EXPECT_EQ(read[i].call.work, rows[i].call.work) << i;
    EXPECT_EQ(read[i].call.type, rows[i].call.type);
    EXPECT_NEAR(read[i].time / rows[i].time, 1, 1e-5);
  }
}

TEST(KernelCalls, look_ups_say_how_their_rows_are_drawn) {
  const auto bags = [](const std::string& family, const std::string& key, const std::string& value) {
    const KernelCall call = kernel_call(family, "fp32",
                                        {{"batch", "16"},
                                         {"tables", "2"},
                                         {"rows", "1000"},
                                         {"dimension", "64"},
                                         {"optimizer", "sgd"},
                                         {"pooling", "4"},
                                         {"reuse", "0"},
                                         {key, value}});
    return std::get<EmbeddingBags>(call.work);
  };
  EXPECT_EQ(bags("embedding_forward", "zipf", "1.05").tables.back().zipf, 1.05);
  EXPECT_EQ(bags("embedding_forward", "skew", "2").tables.back().index_skew, 2);
  EXPECT_TRUE(bags("embedding_forward", "repeated", "1").repeated);
  EXPECT_TRUE(bags("embedding_backward", "atomic", "1").atomic);
  EXPECT_FALSE(bags("embedding_backward", "atomic", "0").atomic);
}

TEST_F(KernelTables, problems_are_told_with_their_line) {
  const std::string header = "gpu,family,type,shape,time_us\n";
  EXPECT_THAT(complaint_of(header + "g,gem,fp32,m=1,5\n"), HasSubstr("did you mean 'gemm'"));
  EXPECT_THAT(complaint_of(header + "g,softmax,fp32,rows=1 columns=2,5\ng,softmax,fp32,rows=1,5\n"),
              HasSubstr("table.csv:3"));
  EXPECT_THAT(complaint_of(header + "g,softmax,fp32,rows=1,5\n"), HasSubstr("no columns="));
  EXPECT_THAT(complaint_of(header + "g,softmax,int8,rows=1 columns=2,5\n"), HasSubstr("none of fp32"));
  EXPECT_THAT(complaint_of(header + "g,softmax,fp32,rows=1 columns=2,0\n"), HasSubstr("not above 0"));
  EXPECT_THAT(complaint_of(header + "g,gemm,fp32,batch=1 m=1 n=1 k=1 layout=nx,5\n"), HasSubstr("layout=nx"));
  EXPECT_THAT(complaint_of(header + "g,embedding_forward,fp32,batch=1 optimizer=sgd tables=5x6,5\n"),
              HasSubstr("ROWSxDIMENSIONxPOOLINGxREUSE"));
  for (const char* words : {"rows=1.5 columns=2", "rows=inf columns=2", "rows=1e19 columns=2"}) {
    EXPECT_THAT(complaint_of(header + "g,softmax,fp32," + words + ",5\n"), HasSubstr("no whole number"));
  }
  EXPECT_THAT(complaint_of(header + "g,softmax,fp32,rows=1 rows=2 columns=2,5\n"), HasSubstr("said twice"));
  EXPECT_THAT(complaint_of(header + "g,embedding_forward,fp32,batch=1 optimizer=sgd tables=5x6x1x0x7,5\n"),
              HasSubstr("ROWSxDIMENSIONxPOOLINGxREUSE"));
  const std::string attention = "g,attention_forward,bf16,batch=1 heads=1 queries=1 keys=1 head_size=64 ";
  EXPECT_THAT(complaint_of(header + attention + "causal=2 version=cudnn,5\n"),
              HasSubstr("causal= is 0 or 1"));
  EXPECT_THAT(complaint_of(header + attention + "causal=1 version=4,5\n"),
              HasSubstr("none of flash, flash_1, flash_1_cuda, flash_3, cudnn"));
}

// Rows are left out by what is expected of them: the last but one was held up by the host.
TEST_F(KernelTables, neusights_rows) {
  const auto expected = [](const KernelCall& call) {
    const auto* product = std::get_if<Gemm>(&call.work);
    return product != nullptr && product->k == 8 ? 100_us : 2000_us;
  };
  const auto report = imported(
      "OPName,Latency,Device,B,M,N,K,H\n"
      "linear,2.5,A,1,64,32,16,\n"
      "bmm,2.5,A,8,64,32,16,\n"
      "softmax,2.5,A,8,,,,32\n"
      "conv,2.5,A,8,,,,32\n"
      "bmm,0.9,A,8,64,8,16,\n"
      "bmm,2.5,B,8,64,32,16,\n",
      {.gpu = "p100_16gb_pcie", .device = "A", .shortest = 500_us, .expected = expected});
  EXPECT_EQ(report.used, 3U);
  EXPECT_EQ(report.not_modelled, 1U);
  EXPECT_EQ(report.too_short, 1U);
  EXPECT_EQ(report.other_device, 1U);
  EXPECT_EQ(std::get<Gemm>(rows_[0].call.work), (Gemm{1, 64, 16, 32, false, true}));
  EXPECT_EQ(std::get<Gemm>(rows_[1].call.work), (Gemm{8, 64, 16, 32}));
  EXPECT_EQ(std::get<Softmax>(rows_[2].call.work), (Softmax{8, 32}));
  EXPECT_NEAR(rows_[0].time / 1_us, 2500, 1e-9);
}

// 3 of 8 us are the events'; a row of 2 us has nothing else.
TEST_F(KernelTables, what_timing_adds_is_taken_off) {
  const auto report =
      imported("OPName,Latency,Device,B,M,N,K,H\nlinear,0.008,A,1,64,32,16,\nlinear,0.002,A,1,64,32,32,\n",
               {.gpu = "p100_16gb_pcie", .timing_adds = 3_us});
  EXPECT_EQ(report.used, 1U);
  EXPECT_EQ(report.too_short, 1U);
  EXPECT_NEAR(rows_[0].time / 1_us, 5, 1e-9);
}

// Lookups that were drawn by Zipf's law say so, and read back.
TEST_F(KernelTables, own_rows_of_popular_embeddings) {
  (void)imported(
      "pass,type,tables,rows,dim,batch,pooling,zipf_percent,median_us,unique_rows\n"
      "forward,fp32,8,1000,64,16,4,80,12.5,256\n",
      {.gpu = "h100_80gb"});
  const auto& bags = std::get<EmbeddingBags>(rows_[0].call.work);
  EXPECT_EQ(bags.tables[0].zipf, 0.8);
  EXPECT_EQ(bags.tables[0].reuse_factor, 0);
  const auto read = read_kernel_csv({file(kernel_csv(rows_))});
  EXPECT_EQ(read.front().call.work, rows_[0].call.work);
}

// Rows of our own program: 8 tables, 8 x 16 x 4 lookups of 256 different rows are a reuse factor of 2.
TEST_F(KernelTables, own_rows_of_embeddings) {
  const auto report = imported(
      "# lockstep-measure embedding: lookups\n"
      "pass,type,tables,rows,dim,batch,pooling,zipf_percent,median_us,unique_rows\n"
      "forward,fp32,8,1000,64,16,4,0,12.5,256\n"
      "sort,fp32,8,1000,64,16,4,0,12.5,256\n"
      "update,fp32,8,1000,64,16,4,0,30,256\n",
      {.gpu = "h100_80gb"});
  EXPECT_EQ(report.used, 2U);
  EXPECT_EQ(report.not_modelled, 1U);
  const auto& bags = std::get<EmbeddingBags>(rows_[0].call.work);
  EXPECT_EQ(bags.tables.size(), 8U);
  EXPECT_EQ(bags.tables[0].reuse_factor, 2);
  EXPECT_EQ(std::get<EmbeddingBags>(rows_[1].call.work).direction, Direction::Backward);
}

TEST_F(KernelTables, an_unknown_table_is_refused) {
  try {
    (void)imported("a,b\n1,2\n", {.gpu = "h100_80gb"});
    FAIL() << "accepted";
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("no table of kernels that is known"));
  }
}

TEST_F(KernelTables, what_cannot_be_is_told_with_its_line) {
  const auto complaint = [&](const std::string& row) -> std::string {
    try {
      (void)imported("OPName,Latency,Device,B,M,N,K,H\nsoftmax,2.5,A,8,,,,32\n" + row, {.gpu = "t4_16gb"});
    } catch (const InputError& problem) {
      return problem.what();
    }
    return "accepted";
  };
  EXPECT_THAT(complaint("softmax,2.5,A,8.5,,,,32\n"), HasSubstr(":3"));
  EXPECT_THAT(complaint("softmax,2.5,A,8.5,,,,32\n"), HasSubstr("B: 8.5 is no whole number"));
  EXPECT_THAT(complaint("softmax,-2.5,A,8,,,,32\n"), HasSubstr("Latency: -2.5 is not above 0"));
}

TEST_F(KernelTables, of_another_gpu_are_refused) {
  const std::string table =
      "# gpu: NVIDIA H100 80GB HBM3\n# multiprocessors: 132\n# cuda: 13.0\n"
      "operation,type,rows,columns,median_us\nsoftmax,fp32,8,32,5\n";
  EXPECT_EQ(imported(table, {.gpu = "h100_80gb", .multiprocessors = 132}).source,
            "table.csv, NVIDIA H100 80GB HBM3, CUDA 13.0");
  try {
    (void)imported(table, {.gpu = "p100_16gb_pcie", .multiprocessors = 56});
    FAIL() << "accepted";
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("132 multiprocessors, p100_16gb_pcie has 56"));
  }
}

// NeuSight's tables name the GPU of each row and say nothing of its multiprocessors.
TEST_F(KernelTables, say_which_gpu_they_are_of) {
  const std::string header = "OPName,Latency,Device,B,M,N,K,H\n";
  const std::string v100 = "softmax,2.5,Tesla V100-PCIE-32GB,8,,,,32\n";
  EXPECT_EQ(imported(header + v100, {.gpu = "h100_80gb"}).device, "Tesla V100-PCIE-32GB");
  const KernelImportReport of_one =
      imported(header + v100 + "softmax,2.5,Tesla T4,8,,,,32\n", {.gpu = "t4_16gb", .device = "Tesla T4"});
  EXPECT_EQ(of_one.device, "Tesla T4");
  EXPECT_EQ(of_one.used, 1U);
}

TEST_F(KernelTables, sources_are_kept_and_cited) {
  const KernelMeasurements rows{{"g", {"softmax", DataType::FP16, Softmax{7, 8}}, 6_us}};
  const auto table = file(kernel_csv(rows, {"gemm.csv, an H100", "softmax.csv"}));
  EXPECT_EQ(read_kernel_csv({table}).size(), 1U);
  EXPECT_EQ(cited_tables({table}), "table.csv (from gemm.csv, an H100; softmax.csv)");
}

TEST_F(KernelTables, a_gzip_file_that_is_cut_off_is_refused) {
  EXPECT_THAT(complaint_of("\x1F\x8B\x08"), HasSubstr("cut off or broken"));
}

}  // namespace
}  // namespace lockstep
