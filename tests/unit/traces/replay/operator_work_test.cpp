#include "traces/replay/operator_work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "traces/replay/pointwise_work.hpp"

namespace lockstep::testing {
namespace {

using replay::ConvolutionOutputs;
using replay::Dims;
using replay::modelled_work;
using replay::ModelledWork;
using replay::OperatorLaunches;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// An operator in Kineto's form.
replay::OperatorArguments called(const std::string& name, const std::string& dims, const std::string& types,
                                 const std::string& values = "") {
  kineto::RecordedTrace trace;
  kineto::Operator op;
  op.name = trace.names.number(name);
  op.input_dims = trace.names.number(dims);
  op.input_types = trace.names.number(types);
  op.concrete_inputs = trace.names.number(values);
  return replay::arguments_of(trace, op);
}

OperatorLaunches launched(replay::OperatorArguments op, const std::vector<std::string>& kernels) {
  OperatorLaunches made{std::move(op), {}, {}};
  for (const std::string& kernel : kernels) {
    const auto number = static_cast<std::uint32_t>(made.kernels.size());
    made.kernels.push_back({number, kernel, 1e-5 * (number + 1)});
  }
  return made;
}

/// An operator with one kernel, and what that does.
struct Case {
  const char *op, *dims, *types, *values, *kernel;
  KernelWork work;
  DataType type = DataType::FP32;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.op << " " << one.dims << " " << one.kernel;
}

class OneKernel : public ::testing::TestWithParam<Case> {};

TEST_P(OneKernel, DoesWhatItsOperatorSays) {
  const Case& one = GetParam();
  const auto made =
      modelled_work(launched(called(one.op, one.dims, one.types, one.values), {one.kernel}), {});
  ASSERT_THAT(made, SizeIs(1));
  ASSERT_THAT(made[0].calls, SizeIs(1));
  EXPECT_EQ(made[0].calls[0].work, one.work);
  EXPECT_EQ(made[0].calls[0].type, one.type);
  EXPECT_THAT(made[0].work, ElementsAre(0U));
}

using Way = Convolution::Pass;

// 56 pixels, filters of 3 that move by 1 and give 56: padding 1. By 2 and 28: 28 = (56 + 2 - 3) / 2 + 1.
INSTANTIATE_TEST_SUITE_P(
    Operators, OneKernel,
    ::testing::Values(
        Case{"aten::mm", "[[256, 16], [16, 13]]", R"(["float", "float"])", "", "volta_sgemm_128x32_nt",
             Gemm{.m = 256, .n = 13, .k = 16, .transpose_a = true}},
        Case{"aten::addmm", "[[5], [64, 32], [32, 5], [], []]",
             R"(["float", "float", "float", "Scalar", "Scalar"])", "", "ampere_sgemm_32x32_sliced1x4_tn",
             Gemm{.m = 64, .n = 5, .k = 32, .transpose_b = true}},
        Case{"aten::mm", "[[64, 32], [32, 8]]", R"(["float", "float"])", "",
             "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64", Gemm{.m = 64, .n = 8, .k = 32},
             DataType::TF32},
        Case{"aten::mm", "[[64, 32], [32, 8]]", R"(["c10::Half", "c10::Half"])", "", "volta_h884gemm_nn",
             Gemm{.m = 64, .n = 8, .k = 32}, DataType::FP16},
        Case{"aten::bmm", "[[7, 27, 16], [7, 16, 27]]", R"(["float", "float"])", "", "gemm",
             Gemm{.batch = 7, .m = 27, .n = 27, .k = 16}},
        Case{"aten::threshold_backward", "[[4, 8], [4, 8], []]", R"(["float", "float", "Scalar"])", "",
             "vectorized_elementwise_kernel", Pointwise{.elements = 32, .reads = 2, .writes = 1, .flops = 1}},
        // A broadcast operand, and one that is converted: each element by itself.
        Case{"aten::add_", "[[4, 8], [1, 8], []]", R"(["float", "float", "Scalar"])", "",
             "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<add>",
             Pointwise{.elements = 32, .reads = 1.25, .writes = 1, .flops = 1, .instructions = 67}},
        Case{"aten::copy_", "[[4, 8], [4, 8], []]", R"(["float", "c10::BFloat16", "Scalar"])", "",
             "void at::native::unrolled_elementwise_kernel<copy, TrivialOffsetCalculator<1, unsigned int>, "
             "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1> >",
             Pointwise{.elements = 32, .reads = 0.5, .writes = 1, .flops = 0, .instructions = 67}},
        Case{"aten::clamp_min", "[[4, 8], [], [4, 8]]", R"(["float", "Int", "float"])", "", "k",
             Pointwise{.elements = 32, .reads = 1, .writes = 1, .flops = 1}},
        Case{"aten::copy_", "[[16], [16], []]", R"(["float", "long int", "Scalar"])", "", "k",
             Pointwise{.elements = 16, .reads = 2, .writes = 1, .flops = 0}},
        Case{"aten::fill_", "[[112], []]", R"(["float", "Scalar"])", "", "k",
             Pointwise{.elements = 112, .reads = 0, .writes = 1, .flops = 0}},
        Case{"aten::native_dropout", "[[8], [], []]", R"(["float", "Scalar", "Scalar"])", "", "k",
             Pointwise{.elements = 8, .reads = 1, .writes = 1.25, .flops = 4}},
        Case{"aten::sum", "[[8, 3, 5, 5], [], [], []]", R"(["float", "ScalarList", "Scalar", ""])",
             R"(["", "[0, 2, 3]", "False", ""])", "reduce_kernel<512, 1, F>",
             Reduction{.rows = 3, .columns = 200}},
        Case{"aten::sum", "[[16, 256], [], [], []]", R"(["float", "", "Scalar", ""])", "",
             "reduce_kernel<128, 4, F>", Reduction{.rows = 16, .columns = 256, .across_rows = true}},
        Case{"aten::_log_softmax_backward_data", "[[512, 10], [512, 10], [], []]",
             R"(["float", "float", "Int", "float"])", "", "softmax_warp_backward<float>",
             Softmax{.rows = 512, .columns = 10, .direction = Direction::Backward, .logarithm = true}},
        Case{"aten::cudnn_batch_norm", "[[32, 64, 7, 7], [64], [64]]", R"(["float", "float", "float"])", "",
             "cudnn::bn_fw_tr_1C11_kernel_NCHW", BatchNorm{.batch = 32, .channels = 64, .pixels = 49}},
        Case{"aten::native_layer_norm", "[[4, 6, 8], [], [8], [8], []]",
             R"(["float", "ScalarList", "float", "float", "Scalar"])", R"(["", "[8]", "", "", "1e-05"])",
             "vectorized_layer_norm_kernel", LayerNorm{.rows = 24, .columns = 8}},
        Case{"aten::embedding", "[[100, 64], [4, 5], [], [], []]",
             R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", "", "indexSelectLargeIndex",
             IndexSelect{.table_rows = 100, .picks = 20, .columns = 64}},
        Case{"aten::cat", "[[[4, 8], [2, 8]], []]", R"(["TensorList", "Scalar"])", "",
             "CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>", Concat{.elements = 48, .pieces = 2}},
        // 4 windows from 16 pixels; reads 4 for each, writes one and its index of 8 bytes.
        Case{"aten::max_pool2d_with_indices", "[[1, 1, 4, 4], [], [], [], [], []]",
             R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])",
             R"(["", "[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False"])", "max_pool_forward_nchw",
             Pointwise{
                 .elements = 4, .reads = 4, .writes = 3, .flops = 4, .instructions = 130 + 2 * 15 + 4 * 20}},
        // Windows of 3 x 3, 2 apart: a pixel is in 1.5 rows of 1.5 of them.
        Case{
            "aten::max_pool2d_with_indices_backward",
            "[[1, 1, 2, 2], [1, 1, 4, 4], [], [], [], [], [], [1, 1, 2, 2]]",
            R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "long int"])",
            R"(["", "", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False", ""])", "max_pool_backward_nchw",
            Pointwise{.elements = 4,
                      .reads = 3,
                      .writes = 4,
                      .flops = 4 * 2.25,
                      .instructions = 4 * (200 + 1.5 * 12 + 2.25 * 17)}},
        Case{
            "aten::convolution_backward", "[[32, 8, 28, 28], [32, 4, 56, 56], [8, 4, 3, 3]]",
            R"(["float", "float", "float"])",
            R"(["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, True]"])",
            "volta_sgemm_64x64_nt",
            Convolution{.batch = 32,
                        .in_channels = 4,
                        .out_channels = 8,
                        .height = 56,
                        .width = 56,
                        .filter_height = 3,
                        .filter_width = 3,
                        .stride = 2,
                        .padding_height = 1,
                        .padding_width = 1,
                        .pass = Way::WeightGradient,
                        .channels_first = true}}));

TEST(OperatorWork, SaysNothingThatIsNotCertain) {
  const auto nothing = [](replay::OperatorArguments op, const std::vector<std::string>& kernels) {
    return modelled_work(launched(std::move(op), kernels), {});
  };
  const std::string two = R"(["float", "float"])";
  EXPECT_THAT(nothing(called("aten::index", "[[16, 27], []]", two), {"index_kernel"}), IsEmpty());
  EXPECT_THAT(nothing(called("aten::mm", "[[16, 27], [28, 4]]", two), {"gemm"}), IsEmpty());
  EXPECT_THAT(nothing(called("aten::mm", "[[16, 27]", two), {"gemm"}), IsEmpty());  // cut off
  EXPECT_THAT(nothing(called("aten::mul", "[[8], [8]]", R"(["double", "double"])"), {"k"}), IsEmpty());
  EXPECT_THAT(nothing(called("aten::cat", "[[], []]", R"(["TensorList", "Scalar"])"),
                      {"CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>"}),
              IsEmpty());
  // The summed dimension is not known; nor is this convolution's output.
  EXPECT_THAT(nothing(called("aten::sum", "[[16, 256], [], []]", R"(["float", "", ""])"),
                      {"reduce_kernel<512, 1, F>"}),
              IsEmpty());
  EXPECT_THAT(nothing(called("aten::cudnn_convolution", "[[2, 4, 8, 8], [4, 4, 3, 3]]", two), {"conv"}),
              IsEmpty());
  // Groups: the filters have fewer channels than the input. Dilated: "[2, 2]".
  EXPECT_THAT(nothing(called("aten::convolution_backward", "[[2, 4, 8, 8], [2, 4, 8, 8], [4, 1, 3, 3]]",
                             R"(["float", "float", "float"])"),
                      {"dgrad", "wgrad"}),
              IsEmpty());
  EXPECT_THAT(nothing(called("aten::convolution_backward", "[[2, 4, 8, 8], [2, 4, 8, 8], [4, 4, 3, 3]]",
                             R"(["float", "float", "float"])",
                             R"(["", "", "", "[4]", "[1, 1]", "[2, 2]", "[2, 2]"])"),
                      {"dgrad", "wgrad"}),
              IsEmpty());
}

// Operands of one shape that are found by offsets: one of them is strided, and shapes do not say how.
TEST(OperatorWork, SaysNothingOfStridedOperands) {
  const auto copied_by = [](const std::string& kernel) {
    return modelled_work(
        launched(called("aten::copy_", "[[64, 96, 50], [64, 96, 50]]", R"(["float", "float"])"), {kernel}),
        {});
  };
  const std::string by_vectors = "void at::native::vectorized_elementwise_kernel<4, copy, TrivialOffset>";
  const std::string by_offsets = "void at::native::elementwise_kernel<128, 2, copy>";
  const std::string unrolled =  // PyTorch 1
      "void at::native::unrolled_elementwise_kernel<copy, OffsetCalculator<1, unsigned int>, "
      "TrivialOffsetCalculator<1, unsigned int> >";
  EXPECT_THAT(copied_by(by_vectors), SizeIs(1));
  EXPECT_THAT(copied_by(by_offsets), IsEmpty());
  EXPECT_THAT(copied_by(unrolled), IsEmpty());
  EXPECT_FALSE(replay::computes_offsets(by_vectors));
  EXPECT_TRUE(replay::computes_offsets(by_offsets));
  EXPECT_TRUE(replay::computes_offsets(unrolled));
  EXPECT_FALSE(replay::computes_offsets("void at::native::index_elementwise_kernel<128, 4, index>"));
  EXPECT_FALSE(replay::computes_offsets("void (anonymous namespace)::elementwise_kernel_with_index<int>"));
  EXPECT_FALSE(replay::computes_offsets("volta_sgemm_64x64_nt"));
}

// The bias is broadcast like the row that it is in linear layers of PyTorch 1.
TEST(OperatorWork, BiasesAreCopiedByOffsets) {
  const auto made = modelled_work(launched(called("aten::addmm", "[[5], [64, 32], [32, 5], [], []]",
                                                  R"(["float", "float", "float", "Scalar", "Scalar"])"),
                                           {"elementwise_kernel<128, 2, copy>", "ampere_sgemm_tn"}),
                                  {});
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(made[0].calls[0].work,
            KernelWork(Pointwise{.elements = 320, .reads = 0, .writes = 1, .flops = 1, .instructions = 67}));
}

TEST(OperatorWork, LargeTensorsAreWorkedOnInParts) {
  const auto made = modelled_work(launched(called("aten::relu", "[[8]]", R"(["float"])"), {"k", "k"}), {});
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_THAT(made[0].work, ElementsAre(0U, 1U));
  EXPECT_THAT(modelled_work(launched(called("aten::relu", "[[8]]", R"(["float"])"), {"k", "other"}), {}),
              IsEmpty());
}

const char* const kThree = R"(["float", "float", "float"])";

/// 2 images, 4 channels to 16, 8 x 8 pixels, filters of 3 x 3.
OperatorLaunches backward(const std::vector<std::string>& kernels) {
  return launched(
      called("aten::convolution_backward", "[[2, 16, 8, 8], [2, 4, 8, 8], [16, 4, 3, 3]]", kThree), kernels);
}

Way pass_of(const ModelledWork& work) {
  return std::get<Convolution>(work.calls.at(0).work).pass;
}

TEST(ConvolutionWork, PassesAreToldApartByNames) {
  const auto made =
      modelled_work(backward({"winogradForwardData4x4", "winogradForwardFilter4x4", "volta_sgemm_64x64_nt",
                              "winogradForwardOutput4x4", "winogradWgradData4x4", "winogradWgradDelta4x4",
                              "volta_sgemm_64x64_nt", "winogradWgradOutput4x4"}),
                    {});
  ASSERT_THAT(made, SizeIs(2));
  EXPECT_EQ(pass_of(made[0]), Way::DataGradient);
  EXPECT_THAT(made[0].work, ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(pass_of(made[1]), Way::WeightGradient);
  EXPECT_THAT(made[1].work, ElementsAre(4U, 5U, 6U, 7U));
}

TEST(ConvolutionWork, KernelsThatNoNameTellsApartAreOneWork) {
  const auto made = modelled_work(backward({"volta_sgemm_64x64_nn", "volta_sgemm_64x64_nt"}), {});
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_THAT(made[0].calls, SizeIs(2));
  EXPECT_THAT(made[0].work, ElementsAre(0U, 1U));
}

TEST(ConvolutionWork, ChangesOfLayoutAreApart) {
  // The input's gradient has gradient [2, 16, 8, 8] and filters in, the result out. The longer change is of
  // the larger tensor, and here the later one.
  const auto made = modelled_work(
      backward({"nchwToNhwcKernel", "nchwToNhwcKernel", "xmma_dgrad_tf32f32", "nhwcToNchwKernel", "wgrad"}),
      {});
  ASSERT_THAT(made, SizeIs(5));
  EXPECT_THAT(made[0].work, ElementsAre(2U));
  EXPECT_EQ(made[0].calls[0].type, DataType::TF32);
  EXPECT_THAT(made[1].work, ElementsAre(1U));
  EXPECT_EQ(made[1].calls[0].work, (KernelWork{Transpose{.batch = 2, .rows = 16, .columns = 64}}));
  EXPECT_THAT(made[2].work, ElementsAre(0U));
  EXPECT_EQ(made[2].calls[0].work, (KernelWork{Transpose{.batch = 16, .rows = 4, .columns = 9}}));
  EXPECT_THAT(made[3].work, ElementsAre(3U));
  EXPECT_EQ(made[3].calls[0].work, (KernelWork{Transpose{.batch = 2, .rows = 64, .columns = 4}}));
  EXPECT_EQ(pass_of(made[4]), Way::WeightGradient);
  EXPECT_EQ(made[4].calls[0].type, DataType::FP32);
}

TEST(ConvolutionWork, StridesOfForwardPassesFollowFromBackwardPasses) {
  const auto forward =
      launched(called("aten::cudnn_convolution", "[[2, 4, 8, 8], [16, 4, 1, 1]]", R"(["float", "float"])"),
               {"implicit_convolve_sgemm"});
  ConvolutionOutputs outputs;
  note_output(
      called("aten::cudnn_convolution_backward", "[[2, 4, 8, 8], [2, 16, 4, 4], [16, 4, 1, 1]]", kThree),
      outputs);
  const auto made = modelled_work(forward, outputs);
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(std::get<Convolution>(made[0].calls[0].work).stride, 2);
  // The same shapes with another output: no longer certain.
  replay::note_output(
      called("aten::convolution_backward", "[[2, 16, 8, 8], [2, 4, 8, 8], [16, 4, 1, 1]]", kThree), outputs);
  EXPECT_THAT(modelled_work(forward, outputs), IsEmpty());
}

}  // namespace
}  // namespace lockstep::testing
