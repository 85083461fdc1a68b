#include "generate/work_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "generate/work_size.hpp"

namespace lockstep::generate {
namespace {

/// One call of each kind of work, every size another than that of a new one.
std::vector<KernelCall> one_of_each() {
  const EmbeddingTable table{.rows = 1000,
                             .dimension = 64,
                             .pooling_factor = 2.5,
                             .reuse_factor = 1.25,
                             .location = TableLocation::HostCached,
                             .cache_load_factor = 0.1,
                             .index_skew = 1.6,
                             .active_rows = 0.5,
                             .index_duplication = 3,
                             .zipf = 1.05};
  return {
      {"a", DataType::BF16, Gemm{2, 3, 4, 5, true, true, 4, 2, true}},
      {"b", DataType::FP16, Pointwise{7, 2.5, 3, 4, 5, true, 6, 8}},
      {"c", DataType::FP32, Reduction{5, 6, true}},
      {"d", DataType::INT64, Concat{9, 3, true}},
      {"e", DataType::UINT8, Transpose{2, 3, 4}},
      {"f", DataType::FP32, TriangularIndex{8, 9, true, Direction::Backward}},
      {"g", DataType::FP32, Softmax{4, 5, Direction::Backward, true, {3, 2, 1}, 2048, true, true}},
      {"h", DataType::FP32, LayerNorm{4, 5, LayerNorm::Part::ParameterGradient, {3, 2, 1}, 40, true}},
      {"i", DataType::FP16,
       FlashAttention{2, 3, 4, 5, 6, false, true, Direction::Backward, FlashVersion::CuDnn, true}},
      {"j", DataType::FP16,
       EmbeddingBags{
           16, {table, table}, Direction::Backward, Optimizer::RowWiseAdagrad, DataType::BF16, true, true}},
      {"k", DataType::FP32, EmbeddingCacheInsert{16, {table}}},
      {"l", DataType::FP32, IndexSelect{10, 11, 12, Direction::Backward, true}},
      {"m", DataType::FP32, OptimizerUpdate{Optimizer::BertAdam, 100, 3, 4, 3, 12}},
      {"n", DataType::UINT8, Memcpy{Bytes{4096}, Memcpy::Path::DeviceToHost, false}},
      {"o", DataType::UINT8, Memset{Bytes{512}}},
      {"p", DataType::FP32, Timed{Seconds{1.5e-6}}},
      {"q", DataType::TF32, BatchNorm{2, 3, 4, Direction::Backward, true, true}},
      {"r", DataType::FP8,
       Convolution{2, 3, 4, 32, 33, 5, 6, 2, 1, 2, Convolution::Pass::WeightGradient, true, true}},
  };
}

TEST(WorkText, EveryWorkComesBackAsItWas) {
  const std::vector<KernelCall> calls = one_of_each();
  ASSERT_EQ(calls.size(), std::variant_size_v<KernelWork>);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(calls[i].work.index(), i);
    EXPECT_EQ(kernel_call(call_of(calls[i]), calls[i].name), calls[i]) << work_name(calls[i].work);
  }
}

TEST(WorkText, UsualSizesAreNotSaid) {
  const benchmark::Call call = call_of({"sgemm", DataType::FP32, Gemm{1, 8, 9, 10}});
  EXPECT_EQ(call.work, "gemm");
  EXPECT_EQ(call.type, "fp32");
  EXPECT_THAT(call.fields,
              ::testing::UnorderedElementsAre(::testing::Pair("m", 8.0), ::testing::Pair("n", 9.0),
                                              ::testing::Pair("k", 10.0)));
}

TEST(WorkText, SizesThatThereAreNotAreRefused) {
  EXPECT_THROW((void)kernel_call({"gemm", "fp32", {{"depth", 3}}, {}}, ""), std::invalid_argument);
  EXPECT_THROW((void)kernel_call({"gemm", "fp32", {{"m", 2.5}}, {}}, ""), std::invalid_argument);
  EXPECT_THROW((void)kernel_call({"gemm", "fp31", {{"m", 2}}, {}}, ""), std::invalid_argument);
  EXPECT_THROW((void)kernel_call({"product", "fp32", {{"m", 2}}, {}}, ""), std::invalid_argument);
  EXPECT_THROW((void)kernel_call({"reduction", "fp32", {{"across_rows", 2}}, {}}, ""), std::invalid_argument);
}

TEST(WorkSize, OperandsCountOnce) {
  // A and B of 2 x 3 x 4 and 4 x 5 elements, C of 3 x 5, twice; two FLOPs a multiply-add.
  const WorkSize gemm = size_of({"", DataType::FP16, Gemm{2, 3, 5, 4}});
  EXPECT_DOUBLE_EQ(gemm.bytes, 2 * 2 * (3 * 4 + 4 * 5 + 3 * 5));
  EXPECT_DOUBLE_EQ(gemm.flops, 2 * 2 * 3 * 5 * 4);
  // 6 x 6 pixels, 3 x 3 filters, padding 1, stride 1: 6 x 6 results of 2 channels, each 3 * 3 * 4
  // multiply-adds.
  const WorkSize convolution = size_of({"", DataType::FP32, Convolution{1, 4, 2, 6, 6, 3, 3, 1, 1, 1}});
  EXPECT_DOUBLE_EQ(convolution.flops, 2.0 * 36 * 2 * 36);
  EXPECT_DOUBLE_EQ(convolution.bytes, 4.0 * (4 * 36 + 4 * 2 * 9 + 2 * 36));
  EXPECT_DOUBLE_EQ(size_of({"", DataType::UINT8, Memcpy{Bytes{100}}}).bytes, 200);
  EXPECT_DOUBLE_EQ(size_of({"", DataType::UINT8, Memcpy{Bytes{100}, Memcpy::Path::HostToDevice}}).bytes, 100);
}

}  // namespace
}  // namespace lockstep::generate
