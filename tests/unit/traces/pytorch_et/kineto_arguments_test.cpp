#include "traces/pytorch_et/kineto_arguments.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/error.hpp"
#include "traces/replay/operator_arguments.hpp"

namespace lockstep::testing {
namespace {

/// `aten::cat` of a [4, 8] and a [2, 8] along dimension 0, and eleven more calls of it, on both sides.
struct Pair {
  Pair() {
    using pytorch_et::Argument;
    add_node(1, "[pytorch|profiler|execution_trace|process]", 0);
    add_node(2, "[pytorch|profiler|execution_trace|thread]", 1);
    trace.dimensions = {4, 8, 2, 8};
    for (const std::uint32_t first : {0U, 2U}) {
      pytorch_et::TensorArgument& tensor = trace.tensors.emplace_back();
      tensor.type = trace.names.number("float");
      tensor.first_dimension = first;
      tensor.rank = 2;
    }
    trace.arguments.push_back(
        Argument{.type = trace.names.number("GenericList[Tensor(float),Tensor(float)]"), .tensors = 2});
    trace.arguments.push_back(Argument{.type = trace.names.number("Int"), .text = trace.names.number("0")});
    profile.threads.resize(1);
    constexpr std::array kNames{"aten::cat", "aten::relu"};
    for (int i = 0; i < 12; ++i) {
      pytorch_et::Node& node = add_node(3 + i, kNames[i % 2], 2);
      node.inputs = i % 2 == 0 ? 2 : 0;
      kineto::Operator& op = profile.operators.emplace_back();
      op.name = profile.names.number(kNames[i % 2]);
      op.start = 100 * i;
      op.end = op.start + 50;
    }
  }
  pytorch_et::Node& add_node(std::int64_t id, const std::string& name, std::int64_t parent) {
    pytorch_et::Node& node = trace.nodes.emplace_back();
    node.id = id;
    node.name = trace.names.number(name);
    node.parent = parent;
    node.thread = 1;
    return node;
  }

  pytorch_et::ExecutionTrace trace;
  kineto::RecordedTrace profile;
};

TEST(KinetoArguments, ComeFromTheExecutionTrace) {
  Pair pair;
  EXPECT_EQ(add_arguments(pair.profile, pair.trace), 6U);
  const auto cat = replay::arguments_of(pair.profile, pair.profile.operators[0]);
  ASSERT_EQ(cat.arguments.size(), 2U);
  EXPECT_EQ(cat.arguments[0].shapes, (std::vector<replay::Dims>{{4, 8}, {2, 8}}));
  EXPECT_EQ(cat.numbers(1), (replay::Dims{0}));
  EXPECT_EQ(pair.profile.operators[1].input_dims, 0U);  // the execution trace says none either
}

/// The profile has none of the execution trace's operators.
TEST(KinetoArguments, AreNotThoseOfAnotherModel) {
  Pair pair;
  for (kineto::Operator& op : pair.profile.operators) {
    op.name = pair.profile.names.number("aten::convolution");
  }
  EXPECT_THROW(add_arguments(pair.profile, pair.trace), InputError);
}

TEST(KinetoArguments, LeaveWhatTheProfileSays) {
  Pair pair;
  kineto::Operator& op = pair.profile.operators[0];
  op.input_dims = pair.profile.names.number("[[7]]");
  op.input_types = pair.profile.names.number(R"(["float"])");
  EXPECT_EQ(add_arguments(pair.profile, pair.trace), 5U);
  EXPECT_EQ(pair.profile.names.text(op.input_dims), "[[7]]");
  EXPECT_EQ(op.concrete_inputs, 0U);
}

/// Shapes that agree are taken to be of the same call: a profile that says no values gets them.
TEST(KinetoArguments, AddValuesToTheSameShapes) {
  Pair pair;
  kineto::Operator& op = pair.profile.operators[0];
  op.input_dims = pair.profile.names.number("[[[4, 8], [2, 8]], []]");
  op.input_types = pair.profile.names.number(R"(["float", "Scalar"])");
  EXPECT_EQ(add_arguments(pair.profile, pair.trace), 6U);
  const auto cat = replay::arguments_of(pair.profile, op);
  EXPECT_EQ(cat.numbers(1), (replay::Dims{0}));
  EXPECT_EQ(cat.arguments[0].type, "float");  // its own
}

}  // namespace
}  // namespace lockstep::testing
