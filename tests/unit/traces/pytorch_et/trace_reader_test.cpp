#include "traces/pytorch_et/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/et_fixtures.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace pytorch_et;

std::vector<std::int64_t> listed(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

class EtReader : public ::testing::Test {
 protected:
  ExecutionTrace read(std::string_view text) {
    folder_.write("et.json", std::string{text});
    return read_execution_trace((folder_ / "et.json").string());
  }
  std::string rejected(std::string_view text) {
    try {
      (void)read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  static const Node& named(const ExecutionTrace& trace, std::string_view name) {
    for (const Node& node : trace.nodes) {
      if (trace.names.text(node.name) == name) {
        return node;
      }
    }
    throw std::runtime_error{"no such node"};
  }
  test::ScratchFolder folder_;
};

TEST_F(EtReader, FlatNodesHaveIdsArgumentsAndShapes) {
  const ExecutionTrace trace = read(kFlatEt);
  EXPECT_EQ(trace.schema, "1.0.1");
  EXPECT_EQ(trace.pid, 77);
  EXPECT_EQ(trace.start, 1000);
  EXPECT_EQ(trace.finish, 2000);
  ASSERT_THAT(trace.nodes, SizeIs(5));
  EXPECT_EQ(trace.nodes.front().id, 1);  // sorted: the process comes last in the file
  const Node& mm = named(trace, "aten::mm");
  EXPECT_EQ(mm.parent, 2);
  EXPECT_EQ(mm.rf_id, 1);
  EXPECT_EQ(mm.sequence, 5);
  EXPECT_EQ(mm.thread, 1);
  EXPECT_EQ(trace.names.text(mm.schema), "aten::mm(Tensor self, Tensor mat2) -> Tensor");
  ASSERT_THAT(trace.inputs(mm), SizeIs(2));
  const TensorArgument& second = trace.tensors_of(trace.inputs(mm)[1])[0];
  EXPECT_EQ(second.id, 5);
  EXPECT_EQ(second.storage, 4);
  EXPECT_EQ(second.offset, 8);
  EXPECT_EQ(second.bytes(), 64);
  EXPECT_EQ(trace.names.text(second.device), "cuda:0");
  EXPECT_EQ(trace.names.text(second.type), "float");
  EXPECT_THAT(listed(trace.shape(second)), ElementsAre(4, 4));
  EXPECT_TRUE(trace.strides(second).empty());
  EXPECT_THAT(listed(trace.shape(trace.tensors_of(trace.outputs(mm)[0])[0])), ElementsAre(2, 4));
}

TEST_F(EtReader, CollectivesOfOldSchemasAreReadOffTheirArguments) {
  const ExecutionTrace trace = read(kFlatEt);
  ASSERT_THAT(trace.communications, SizeIs(1));  // the wait is none
  const CommunicationCall& call = trace.communications[0];
  EXPECT_TRUE(call.from_arguments);
  EXPECT_EQ(call.collective, "all_to_allv");
  EXPECT_EQ(call.type, "float");
  EXPECT_EQ(call.in_elements, 8);
  EXPECT_EQ(call.out_elements, 8);
  EXPECT_EQ(call.in_splits, "[3, 5]");
  EXPECT_EQ(call.out_splits, "[4, 4]");
  EXPECT_EQ(call.group, "4711");
  EXPECT_EQ(call.group_size, -1);
  EXPECT_EQ(trace.report.count_of("collective without attributes"), 1);
  EXPECT_EQ(trace.report.count_of("waits for collectives"), 1);
}

TEST_F(EtReader, NestedNodesHaveStridesListsAndKernels) {
  const ExecutionTrace trace = read(kNestedEt);
  const Node& cat = named(trace, "aten::cat");
  EXPECT_EQ(cat.parent, 2);
  EXPECT_EQ(cat.sequence, 41);
  const auto tensors = trace.tensors_of(trace.inputs(cat)[0]);
  ASSERT_THAT(tensors, SizeIs(2));
  EXPECT_THAT(listed(trace.shape(tensors[1])), ElementsAre(2, 6));
  EXPECT_THAT(listed(trace.strides(tensors[1])), ElementsAre(1, 2));
  EXPECT_EQ(trace.names.text(tensors[1].type), "c10::Half");
  EXPECT_EQ(trace.names.text(trace.inputs(cat)[1].text), "0");
  const Node& clamp = named(trace, "aten::clamp");
  EXPECT_EQ(trace.names.text(trace.inputs(clamp)[1].text), "-inf");
  const Node& triton = named(trace, "triton_poi_fused_add_0");
  EXPECT_EQ(trace.names.text(triton.kernel_backend), "triton");
  EXPECT_EQ(trace.names.text(triton.kernel_file), "abc.py");
}

TEST_F(EtReader, CollectivesAndGroupsOfNewSchemas) {
  const ExecutionTrace trace = read(kNestedEt);
  ASSERT_THAT(trace.groups, SizeIs(2));
  EXPECT_EQ(trace.groups[0].size, 4);
  EXPECT_TRUE(trace.groups[0].ranks.empty());
  EXPECT_EQ(trace.groups[1].description, "tp");
  EXPECT_THAT(trace.groups[1].ranks, ElementsAre(2, 3));
  ASSERT_THAT(trace.communications, SizeIs(1));
  const CommunicationCall& call = trace.communications[0];
  EXPECT_FALSE(call.from_arguments);
  EXPECT_EQ(call.collective, "allreduce");
  EXPECT_EQ(call.type, "Half");
  EXPECT_EQ(call.group, "1");
  EXPECT_EQ(call.group_size, 2);
  EXPECT_EQ(call.rank_start, 2);
  EXPECT_EQ(named(trace, "record_param_comms").communication, 0);
}

// Before 1.1.0 a collective names its group by the number of its backend, which the list of groups knows.
TEST_F(EtReader, BackendNumbersBecomeNamesOfGroups) {
  const std::string groups =
      edited(kNestedEt, R"(\"pg_desc\": \"tp\")", R"(\"backend_id\": 82, \"pg_desc\": \"tp\")");
  std::string text = edited(groups, R"(["1", "tp"])", "82");
  text = edited(text, R"("name": "collective_name")", R"("name": "nothing")");
  const ExecutionTrace trace = read(text);
  ASSERT_THAT(trace.communications, SizeIs(1));
  EXPECT_TRUE(trace.communications[0].from_arguments);
  EXPECT_EQ(trace.communications[0].group, "1");
  EXPECT_EQ(trace.communications[0].group_description, "tp");
  EXPECT_EQ(trace.communications[0].group_size, 2);
}

TEST_F(EtReader, WhatIsOddIsInTheReport) {
  const ExecutionTrace linked =
      read(edited(kNestedEt, R"("ctrl_deps": 2,)", R"("ctrl_deps": 2, "ts": 5.5, "sync_dep": [1],)"));
  EXPECT_EQ(linked.report.count_of("times of a linked trace"), 2);
  const ExecutionTrace later = read(edited(kNestedEt, "1.1.1-chakra.0.0.4", "2.0.0"));
  EXPECT_EQ(later.report.count_of("unknown schema"), 1);
  const ExecutionTrace orphan =
      read(edited(kFlatEt, R"("rf_id": 1, "parent": 2)", R"("rf_id": 1, "parent": 44)"));
  EXPECT_EQ(orphan.report.count_of("node whose parent is missing"), 1);
  const ExecutionTrace uneven =
      read(edited(kFlatEt, R"et(["Tensor(float)", "Tensor(float)"])et", R"et(["Tensor(float)"])et"));
  EXPECT_EQ(uneven.report.count_of("arguments that cannot be read"), 1);
  EXPECT_EQ(named(uneven, "aten::mm").inputs, 0);
  const ExecutionTrace scalar = read(edited(kFlatEt, R"([3, 4, 0, 8, 4, "cuda:0"])", R"("<undefined>")"));
  EXPECT_EQ(scalar.report.count_of("tensor without its numbers"), 1);
}

TEST_F(EtReader, ChakraOneIsRead) {
  const ExecutionTrace trace = read(edited(kNestedEt, "1.1.1-chakra.0.0.4", "1.1.1-chakra.1.0.0"));
  EXPECT_THAT(trace.nodes, SizeIs(7));
  EXPECT_EQ(trace.report.count_of("unknown schema"), 0);
}

TEST_F(EtReader, RejectsWhatIsNoTrace) {
  EXPECT_THAT(rejected(""), HasSubstr("et.json:1: the file is empty"));
  EXPECT_THAT(rejected("{}"), HasSubstr("not a PyTorch execution trace"));
  EXPECT_THAT(rejected(R"({"traceEvents": []})"), HasSubstr("not a PyTorch execution trace"));
  EXPECT_THAT(rejected(kFlatEt.substr(0, kFlatEt.size() / 2)), HasSubstr("cut off"));
  EXPECT_THAT(rejected(edited(kFlatEt, R"("id": 6)", R"("id": "six")")),
              HasSubstr("et.json:9: a node ('aten::mm') without a whole number as its \"id\""));
  EXPECT_THAT(rejected(edited(kFlatEt, R"("id": 6)", R"("id": 9)")), HasSubstr("two nodes have the id 9"));
  EXPECT_THAT(rejected(edited(kFlatEt, R"("id": 6,)", R"("id" 6,)")),
              HasSubstr("et.json:9: a node that is no JSON"));
  EXPECT_THROW((void)read_execution_trace((folder_ / "missing.json").string()), InputError);
}

TEST_F(EtReader, AnswersBrokenFilesWithAResultOrAnInputError) {
  for (const std::string_view sound : {kFlatEt, kNestedEt}) {
    Mutations mutations{sound, 20240601};
    int accepted = 0;
    constexpr int kCopies = 600;
    for (int i = 0; i < kCopies; ++i) {
      const std::string broken = mutations.next();
      try {
        const ExecutionTrace trace = read(broken);
        ++accepted;
        for (const Node& node : trace.nodes) {
          ASSERT_LE(trace.inputs(node).size() + trace.outputs(node).size(), trace.arguments.size());
        }
      } catch (const InputError&) {  // what it should be
      }
    }
    EXPECT_GT(accepted, kCopies / 20);  // else the mutations would test the first check only
    EXPECT_LT(accepted, kCopies);
  }
}

// Every published trace loads; nodes as `grep -c '"id":'` counts them.
TEST_F(EtReader, ReadsPublishedTraces) {
  const std::filesystem::path folder = LOCKSTEP_SOURCE_DIR "/../shared/data/traces";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "needs the captured traces in ../shared/data/traces";
  }
  const auto nodes = [&](const std::string& name) {
    const ExecutionTrace trace = read_execution_trace((folder / name).string());
    EXPECT_EQ(trace.report.count_of("arguments that cannot be read"), 0) << name;
    EXPECT_EQ(trace.report.count_of("unknown schema"), 0) << name;
    return trace.nodes.size();
  };
  EXPECT_EQ(nodes("pytorch_et/hf_GPT2_et_1.1.0.json.gz"), 27156);
  EXPECT_EQ(nodes("pytorch_et/pt2_et_1.1.1.json"), 20);
  EXPECT_EQ(nodes("pytorch_et/resnet_1gpu_et_1.0.3.json.gz"), 14391);
  EXPECT_EQ(nodes("pytorch_et/resnet_1gpu_et_1.1.1.json.gz"), 14392);
  EXPECT_EQ(nodes("pytorch_et/resnet_2gpu_et_1.1.0.json.gz"), 14392);
  EXPECT_EQ(nodes("pytorch_et/resnet_et_1.1.0.json.gz"), 14392);
  EXPECT_EQ(nodes("chakra/pytorch_et_1.0.2-chakra.0.0.4.json.gz"), 263);
  EXPECT_EQ(nodes("vgg13_h100/graph_vgg13-iter41.json.gz"), 903);
  EXPECT_EQ(nodes("linear_and_resnet_2080ti/linear_et.json.gz"), 931);
  EXPECT_EQ(nodes("dlrm_8xv100/pytorch_et/dlrm_eg_0.json.gz"), 1675);
}

}  // namespace
}  // namespace lockstep::testing
