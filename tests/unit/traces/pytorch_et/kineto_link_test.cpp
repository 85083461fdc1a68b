#include "traces/pytorch_et/kineto_link.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "traces/kineto/kineto_reader.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep::testing {
namespace {

using namespace pytorch_et;

/// Both sides of the same calls. A thread is a chain of linear layers, each `linear` around `mm`.
class Calls {
 public:
  Calls() {
    node(1, "[pytorch|profiler|execution_trace|process]", 0);
    node(2, "[pytorch|profiler|execution_trace|thread]", 1);
    profile.threads.resize(2);
  }
  std::size_t node(std::int64_t id, const std::string& name, std::int64_t parent, std::int64_t rf_id = 0,
                   std::int32_t thread = 1) {
    Node made;
    made.id = id;
    made.name = trace.names.number(name);
    made.parent = parent;
    made.rf_id = rf_id;
    made.thread = thread;
    trace.nodes.push_back(made);
    return trace.nodes.size() - 1;
  }
  kineto::Operator& call(const std::string& name, std::int64_t start, std::int64_t end,
                         std::uint32_t thread = 0) {
    kineto::Operator made;
    made.name = profile.names.number(name);
    made.start = start;
    made.end = end;
    made.thread = thread;
    return profile.operators.emplace_back(made);
  }
  KinetoLink link() { return link_to_kineto(trace, profile, report); }

  ExecutionTrace trace;
  kineto::RecordedTrace profile;
  ImportReport report;
};

/// @p count layers on both sides; @p rf by layer.
Calls layers(int count, std::int64_t external_minus_rf) {
  Calls calls;
  calls.call("ProfilerStep#3", 0, 1'000'000);
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("layer{}", i);
    const std::int64_t id = 10 + 5 * i;
    calls.node(id, name, 2, 2 * i + 1);
    calls.node(id + 1, "aten::mm", id, 2 * i + 2);
    kineto::Operator& outer = calls.call(name, 100 * i, 100 * i + 90);
    outer.external_id = 2 * i + 1 + external_minus_rf;
    kineto::Operator& inner = calls.call("aten::mm", 100 * i + 10, 100 * i + 50);
    inner.external_id = 2 * i + 2 + external_minus_rf;
  }
  return calls;
}

void expect_all(const KinetoLink& link, LinkMethod method, std::size_t first_node = 2) {
  EXPECT_EQ(link.method, method) << to_string(link.method);
  EXPECT_EQ(link.linked, link.operators);
  EXPECT_EQ(link.linked_nodes, link.nodes);
  EXPECT_EQ(link.node_of[0], -1);  // ProfilerStep
  for (std::size_t i = 1; i < link.node_of.size(); ++i) {
    EXPECT_EQ(link.node_of[i], static_cast<std::int64_t>(first_node + i - 1));
  }
  EXPECT_DOUBLE_EQ(link.confidence(), 1);
}

TEST(KinetoLink, ByRecordFunctionId) {
  Calls calls = layers(20, 1000);
  for (std::size_t i = 1; i < calls.profile.operators.size(); ++i) {
    calls.profile.operators[i].record_function_id = static_cast<std::int64_t>(i);
  }
  expect_all(calls.link(), LinkMethod::RecordFunctionId);
  EXPECT_TRUE(calls.report.rows().empty());
}

// Ids that count something else name other operators: they are not believed.
TEST(KinetoLink, RecordFunctionIdsOfOtherNamesAreNotBelieved) {
  Calls calls = layers(20, 1000);
  for (std::size_t i = 1; i < calls.profile.operators.size(); ++i) {
    calls.profile.operators[i].record_function_id = static_cast<std::int64_t>(i + 1);
  }
  expect_all(calls.link(), LinkMethod::ExternalId);
}

TEST(KinetoLink, ByExternalIdMinusAConstant) {
  Calls calls = layers(20, 1000);
  expect_all(calls.link(), LinkMethod::ExternalId);
  EXPECT_EQ(calls.report.count_of("operators linked by external id"), 40);
}

// External ids are handed out in blocks: the constant changes on the way.
TEST(KinetoLink, ConstantsMayChangeWithinAThread) {
  Calls calls = layers(20, 1000);
  for (std::size_t i = 21; i < calls.profile.operators.size(); ++i) {
    calls.profile.operators[i].external_id += 512;
  }
  expect_all(calls.link(), LinkMethod::ExternalId);
}

TEST(KinetoLink, ByOrderWhereNoIdsAreGood) {
  Calls calls = layers(20, 1000);
  for (kineto::Operator& call : calls.profile.operators) {
    call.external_id = -1;
  }
  expect_all(calls.link(), LinkMethod::Order);
  EXPECT_EQ(calls.report.count_of("operators linked by order"), 40);
}

// One more call on one side and one on the other shift nothing else.
TEST(KinetoLink, OrderToleratesWhatOneSideLacks) {
  Calls calls = layers(20, 1000);
  for (kineto::Operator& call : calls.profile.operators) {
    call.external_id = -1;
  }
  calls.profile.operators[9].name = calls.profile.names.number("only in the profile");
  const KinetoLink link = calls.link();
  EXPECT_EQ(link.method, LinkMethod::Order);
  EXPECT_EQ(link.linked, 39);
  EXPECT_EQ(link.node_of[9], -1);
  EXPECT_EQ(link.node_of[10], 11);
  EXPECT_EQ(calls.report.count_of("operator without a node"), 1);
  EXPECT_EQ(calls.report.count_of("node without an operator"), 1);
  EXPECT_EQ(link.same_caller, 38);  // that of the one inside is not linked
}

// A profile of three steps and the execution trace of one: its nodes stand for the operators of each.
TEST(KinetoLink, StepsOfAProfileShareTheNodesOfOne) {
  Calls calls = layers(20, 1000);
  const std::vector<kineto::Operator> step = calls.profile.operators;
  for (int i = 1; i < 3; ++i) {
    for (kineto::Operator call : step) {
      call.start += 1'000'000 * i;
      call.end += 1'000'000 * i;
      calls.profile.operators.push_back(call);
    }
  }
  const KinetoLink link = calls.link();
  EXPECT_EQ(link.method, LinkMethod::Order);
  EXPECT_EQ(link.repeats, 3);
  EXPECT_EQ(link.linked, 120);
  EXPECT_EQ(link.linked_nodes, 40);
  EXPECT_EQ(link.node_of[42 + 3], link.node_of[1 + 3]);
  EXPECT_EQ(calls.report.count_of("steps linked to one step"), 3);
}

TEST(KinetoLink, ThreadsAreFoundByWhatTheyCall) {
  Calls calls = layers(20, 1000);
  calls.profile.operators.clear();
  for (int i = 0; i < 10; ++i) {  // the other thread comes first in the execution trace, last in the profile
    calls.node(500 + i, fmt::format("Backward{}", i), 2, 0, 7);
  }
  for (int i = 0; i < 20; ++i) {
    calls.call(fmt::format("layer{}", i), 100 * i, 100 * i + 50, 0);
  }
  for (int i = 0; i < 10; ++i) {
    calls.call(fmt::format("Backward{}", i), 100 * i, 100 * i + 50, 1);
  }
  const KinetoLink link = calls.link();
  EXPECT_EQ(link.linked, 30);
  EXPECT_EQ(link.node_of[20], 42);
}

TEST(KinetoLink, NothingInCommon) {
  Calls calls = layers(3, 1000);
  for (kineto::Operator& call : calls.profile.operators) {
    call.name = calls.profile.names.number("something else");
  }
  const KinetoLink link = calls.link();
  EXPECT_EQ(link.method, LinkMethod::None);
  EXPECT_EQ(link.confidence(), 0);
}

class PublishedPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) {
      GTEST_SKIP() << "needs the captured traces in ../shared/data/traces";
    }
  }
  KinetoLink link(const std::string& et, const std::string& profile) {
    ImportReport report;
    const ExecutionTrace trace = read_execution_trace((folder_ / et).string());
    return link_to_kineto(trace, kineto::read_kineto((folder_ / profile).string()), report);
  }
  std::filesystem::path folder_ = LOCKSTEP_SOURCE_DIR "/../shared/data/traces";
};

TEST_F(PublishedPairs, Vgg13LinksWhollyByOrder) {
  const KinetoLink found =
      link("vgg13_h100/graph_vgg13-iter41.json.gz", "vgg13_h100/profiler_vgg13-iter41.json.gz");
  EXPECT_EQ(found.method, LinkMethod::Order);
  EXPECT_EQ(found.operators, 900);
  EXPECT_EQ(found.linked, 900);
  EXPECT_EQ(found.same_caller, 900);
}

TEST_F(PublishedPairs, AllStepsOf2080TiTracesLink) {
  const KinetoLink linear =
      link("linear_and_resnet_2080ti/linear_et.json.gz", "linear_and_resnet_2080ti/linear_kineto.json.gz");
  EXPECT_EQ(linear.linked_nodes, linear.nodes);
  EXPECT_GT(linear.confidence(), 0.99);
  const KinetoLink resnet =
      link("linear_and_resnet_2080ti/resnet_et.json.gz", "linear_and_resnet_2080ti/resnet_kineto.json.gz");
  EXPECT_EQ(resnet.linked_nodes, resnet.nodes);
  EXPECT_GT(resnet.linked, 0.98 * static_cast<double>(resnet.operators));
  EXPECT_GT(resnet.confidence(), 0.95);
}

TEST_F(PublishedPairs, EveryRankOfDlrmLinks) {
  for (int rank = 0; rank < 8; ++rank) {
    std::string profile;
    for (const auto& entry : std::filesystem::directory_iterator{folder_ / "dlrm_8xv100/kineto"}) {
      const std::string name = entry.path().filename().string();
      profile = name.starts_with(fmt::format("worker{}_", rank)) ? name : profile;
    }
    const KinetoLink found =
        link(fmt::format("dlrm_8xv100/pytorch_et/dlrm_eg_{}.json.gz", rank), "dlrm_8xv100/kineto/" + profile);
    EXPECT_GE(found.linked, 1668) << rank;
    EXPECT_EQ(found.operators, 1672) << rank;
    EXPECT_GT(found.confidence(), 0.98) << rank;
  }
}

}  // namespace
}  // namespace lockstep::testing
