#include "traces/replay/embedding_work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/workload/layers/lookup_pass.hpp"

namespace lockstep::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kForward = "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function";
constexpr const char* kBackward = "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>";

OperatorArgument vector_of(const std::string& type, std::int64_t length) {
  return {type, Dims{length}, {}, ""};
}

/// 2 tables of 300 rows together and 16 columns, 8 samples, 40 lookups; as PyTorch 1.12 calls it.
OperatorArguments look_up(const std::string& name = kForward) {
  OperatorArguments op{name, {}};
  const OperatorArgument number{"Scalar", {}, {}, ""};
  op.arguments = {vector_of("float", 0),
                  vector_of("float", 4800),
                  vector_of("float", 0),
                  {"float", Dims{0, 0}, {}, ""},
                  vector_of("int", 2),
                  vector_of("long", 2),
                  vector_of("int", 3),
                  number,
                  number,
                  vector_of("long", 3),
                  number,
                  vector_of("long", 40),
                  vector_of("long", 17),
                  number,
                  {"", {}, {}, ""},
                  {"", {}, {}, ""},
                  vector_of("int", 0),
                  number,
                  vector_of("float", 300)};
  return op;
}

OperatorLaunches launched(OperatorArguments called, OperatorArguments other,
                          const std::vector<std::string>& kernels) {
  OperatorLaunches op{std::move(called), {}, std::move(other), {}};
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    op.kernels.push_back({i, kernels[i], 1e-5});
  }
  return op;
}

/// Gradients of 8 samples and 2 tables of 16 columns.
OperatorArguments gradient() {
  return {kBackward, {{"float", Dims{8, 32}, {}, ""}}};
}

TEST(RecordedLookup, FollowsFromTheLengthsOfTheArguments) {
  const auto lookup = recorded_lookup(look_up());
  ASSERT_TRUE(lookup);
  EXPECT_EQ(lookup->tables, 2);
  EXPECT_EQ(lookup->batch, 8);
  EXPECT_EQ(lookup->lookups, 40);
  EXPECT_EQ(lookup->weights, 4800);
  EXPECT_EQ(lookup->rows, 300);
  EXPECT_EQ(recorded_lookup(look_up("fbgemm::split_embedding_codegen_lookup_sgd_function"))->rows, 0);
  OperatorArguments uneven = look_up();
  uneven.arguments[12] = vector_of("long", 18);  // no whole number of bags for each table
  EXPECT_FALSE(recorded_lookup(uneven));
  EXPECT_FALSE(recorded_lookup(look_up("aten::mm")));
}

TEST(EmbeddingForward, IsAKernelOverAllTables) {
  const auto made = embedding_forward(
      launched(look_up(), {}, {"split_embedding_codegen_forward_unweighted_kernel<float>"}));
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_THAT(made[0].work, ElementsAre(0U));
  const auto& bags = std::get<EmbeddingBags>(made[0].calls.at(0).work);
  // 300 rows of 4,800 / 300 columns in 2 tables; 40 lookups in 2 x 8 bags. Quartiles of a lognormal whose
  // logarithm varies by 1.33: exp(-+ 0.6745 x 1.33) = 0.408 and 2.452, 0.285 and 1.715 of their mean.
  ASSERT_THAT(bags.tables, SizeIs(2));
  EXPECT_EQ(bags.tables[0].rows, 43);
  EXPECT_EQ(bags.tables[1].rows, 257);
  EXPECT_EQ(bags.tables[0].dimension, 16);
  EXPECT_NEAR(bags.tables[0].pooling_factor, 0.285 * 2.5, 2e-3);
  EXPECT_NEAR(bags.tables[1].pooling_factor, 1.715 * 2.5, 2e-3);
  EXPECT_EQ(bags.batch, 8);
}

TEST(EmbeddingForward, TakesTheWidthFromTheGradientWhereRowsAreNotSaid) {
  const OperatorArguments sgd = look_up("fbgemm::split_embedding_codegen_lookup_sgd_function");
  const std::vector<std::string> kernels{"split_embedding_codegen_forward_unweighted_kernel<float>"};
  EXPECT_THAT(embedding_forward(launched(sgd, {}, kernels)), IsEmpty());
  const auto made = embedding_forward(launched(sgd, gradient(), kernels));
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(std::get<EmbeddingBags>(made[0].calls.at(0).work).tables.at(0).rows, 43);
}

/// 48 columns together, 32 of the widest: not alike. The rows are those of 4,800 elements, 100 in the mean.
TEST(EmbeddingForward, TakesWidthsFromRecordedValues) {
  OperatorArguments op = look_up("fbgemm::split_embedding_codegen_lookup_sgd_function");
  op.arguments[7].value = "48";
  op.arguments[8].value = "32";
  const auto made = embedding_forward(launched(op, {}, {"split_embedding_codegen_forward_kernel<float>"}));
  ASSERT_THAT(made, SizeIs(1));
  const auto& tables = std::get<EmbeddingBags>(made[0].calls.at(0).work).tables;
  EXPECT_EQ(tables.at(0).dimension, 32);
  EXPECT_EQ(tables.at(1).dimension, 16);
  EXPECT_NEAR(static_cast<double>(tables.at(0).rows + tables.at(1).rows), 200, 1);
  op.arguments[8].value = "24";
  const auto alike = embedding_forward(launched(op, {}, {"split_embedding_codegen_forward_kernel<float>"}));
  EXPECT_EQ(std::get<EmbeddingBags>(alike[0].calls.at(0).work).tables.at(1).dimension, 24);
}

TEST(EmbeddingBagForward, HasTheShapesOfItsTable) {
  OperatorArguments op{"aten::_embedding_bag", {}};
  op.arguments = {{"float", Dims{500, 64}, {}, ""}, vector_of("long int", 120), vector_of("long int", 31)};
  op.arguments.resize(8, {"Scalar", {}, {}, "False"});
  const std::vector<std::string> kernels{"EmbeddingBag_updateOutputKernel_sum_mean<float, long>"};
  const auto table = [&] {
    const auto made = embedding_bag_forward(launched(op, {}, kernels));
    return std::get<EmbeddingBags>(made.at(0).calls.at(0).work).tables.at(0);
  };
  EXPECT_EQ(table(), (EmbeddingTable{.rows = 500, .dimension = 64, .pooling_factor = 120.0 / 31}));
  op.arguments[7].value = "True";
  EXPECT_EQ(table().pooling_factor, 4);
  op.arguments[1].shape = Dims{4, 30};  // bags of one length: PyTorch makes offsets of them
  EXPECT_THAT(embedding_bag_forward(launched(op, {}, kernels)), IsEmpty());
}

TEST(EmbeddingBackward, IsPassesOverLookUpsAndOneUpdate) {
  const std::vector<std::string> kernels{
      "linearize_index_kernel<long>", "cub::DeviceRadixSortOnesweepKernel<cub::Policy800>",
      "cub::DeviceCompactInitKernel", "split_embedding_backward_..._kernel_cta_per_row_1<float>",
      "split_embedding_backward_..._kernel_warp_per_row_1<float>"};
  const auto made = embedding_backward(launched(gradient(), look_up(), kernels));
  ASSERT_THAT(made, SizeIs(3));
  EXPECT_EQ(std::get<Pointwise>(made[0].calls.at(0).work).elements, 40);
  EXPECT_EQ(made[1].calls.at(0).name, lookup_pass::kSortOnesweep.kernel);
  EXPECT_THAT(made[2].work, ElementsAre(3U, 4U));
  const auto& update = std::get<EmbeddingBags>(made[2].calls.at(0).work);
  EXPECT_EQ(update.direction, Direction::Backward);
  EXPECT_EQ(update.optimizer, Optimizer::RowWiseAdagrad);
  ASSERT_THAT(made[2].calls, SizeIs(2));  // and the kernel of rows with many lookups
  EXPECT_EQ(std::get<Pointwise>(made[2].calls[1].work).elements, 1);
  OperatorArguments other_optimizer = gradient();
  EXPECT_THAT(embedding_backward(launched(gradient(), {}, kernels)), IsEmpty());  // no lookup known
  other_optimizer.name = "torch::autograd::CppNode<SplitLookupFunction_lars_sgd_Op>";
  EXPECT_THAT(embedding_backward(launched(other_optimizer, look_up(), kernels)), SizeIs(2));
}

TEST(LookupPairs, AreFoundBySequenceNumbers) {
  kineto::RecordedTrace trace;
  const auto add = [&](const std::string& name, std::uint32_t thread, std::int64_t sequence) {
    kineto::Operator& op = trace.operators.emplace_back();
    op.name = trace.names.number(name);
    op.thread = thread;
    op.sequence_number = sequence;
  };
  add("aten::zero_", 0, 7);
  add(kForward, 0, -1);
  add("aten::zero_", 0, 9);
  add(kForward, 0, -1);
  add(kBackward, 1, 9);
  add(kBackward, 1, 7);
  EXPECT_THAT(lookup_pairs(trace),
              ElementsAre(std::pair(1U, 5U), std::pair(3U, 4U), std::pair(4U, 3U), std::pair(5U, 1U)));
}

}  // namespace
}  // namespace lockstep::replay
