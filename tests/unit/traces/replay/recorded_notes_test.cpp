/// @file
/// What Chakra traces of recordings say besides the Program.

#include "traces/replay/recorded_notes.hpp"

#include <gtest/gtest.h>

#include "sim/compiled_program.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/chakra/node_counts.hpp"
#include "traces/chakra/program_node.hpp"
#include "traces/chakra/program_nodes.hpp"
#include "traces/chakra/program_reader.hpp"
#include "traces/chakra/record_reader.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep::testing {
namespace {

constexpr const char* kExecutionTrace =
    R"et({"schema": "1.0.1", "pid": 9, "time": "", "start_ts": 1, "nodes": [
  {"name": "[pytorch|profiler|execution_graph|thread]", "id": 2, "rf_id": 0, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 1, "fw_tid": 0, "op_schema": "",
   "inputs": [], "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []},
  {"name": "aten::mm", "id": 6, "rf_id": 31, "parent": 2, "fw_parent": 0, "seq_id": 5, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "aten::mm(Tensor self, Tensor mat2) -> Tensor",
   "inputs": [[3, 4, 0, 8, 4, "cuda:0"], true], "input_shapes": [[2, 4], []], "input_types": ["Tensor(float)", "Bool"],
   "outputs": [[7, 8, 0, 8, 4, "cuda:0"]], "output_shapes": [[2, 4]], "output_types": ["Tensor(float)"]},
  {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "rf_id": 0, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 0, "fw_tid": 0, "op_schema": "",
   "inputs": [], "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []}],
  "finish_ts": 2})et";

/// An operator with a kernel, then an all-gather of one of four ranks, whose partners' traces are not there.
KinetoText profile(const std::string& dims) {
  KinetoText trace{0, 4};
  trace.op("aten::mm", 0, 20, 1, dims)
      .call("cudaLaunchKernel", 5, 5, 1)
      .kernel("gemm", 12, 30, 7, 1)
      .call("cudaLaunchKernel", 25, 5, 2)
      .kernel("ncclDevKernel_AllGather_RING_LL", 50, 40, 20, 2,
              R"(,"Collective name":"allgather","In msg nelems":100,"Out msg nelems":400,"Group size":4,)"
              R"("dtype":"Float")");
  return trace;
}

class RecordedNotesTest : public ::testing::Test {
 protected:
  void read(const std::string& dims) {
    folder_.write("profile.json", profile(dims).text());
    replay_ = replay::make_replay(replay::read_traces({(folder_ / "profile.json").string()}));
  }
  /// Records of the rank's trace, the metadata left out.
  void write(const std::vector<pytorch_et::ExecutionTrace>& execution_traces) {
    const replay::RecordedNotes recorded{replay_, execution_traces};
    const chakra::NodeNotes notes = recorded.notes();
    const auto kernels = time_kernels(*replay_.job.programs[0], GpuSpec{});
    folder_.write("rank.0.et", chakra::trace_of_rank(replay_.job, 0, kernels, {false, &notes}));
  }
  [[nodiscard]] std::string record_named(const std::string& name) const {
    chakra::RecordReader file{folder_ / "rank.0.et"};
    std::string_view record;
    chakra::ProgramNode node;
    (void)file.next(record);
    while (file.next(record)) {
      chakra::read_program_node(record, node);
      if (node.name == name) {
        return std::string{record};
      }
    }
    return "";
  }

  test::ScratchFolder folder_;
  replay::Replay replay_;
};

TEST_F(RecordedNotesTest, OperatorsHaveTheArgumentsOfTheExecutionTrace) {
  read("");
  folder_.write("et.json", kExecutionTrace);
  std::vector<pytorch_et::ExecutionTrace> traces;
  traces.push_back(pytorch_et::read_execution_trace((folder_ / "et.json").string()));
  write(traces);
  const std::string record = record_named("aten::mm");
  for (const char* text : {"[[3, 4, 0, 8, 4, 'cuda:0'], True]", "[[2, 4], []]", "['Tensor(float)', 'Bool']",
                           "aten::mm(Tensor self, Tensor mat2) -> Tensor", "execution trace"}) {
    EXPECT_NE(record.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(chakra::count_nodes(folder_ / "rank.0.et").from_execution_trace, 1U);
}

TEST_F(RecordedNotesTest, ElseTheShapesOfTheProfile) {
  read("[[2, 4], [4, 8]]");
  write({});
  const std::string record = record_named("aten::mm");
  EXPECT_NE(record.find("[[2, 4], [4, 8]]"), std::string::npos);
  EXPECT_NE(record.find("['float']"), std::string::npos);
  EXPECT_EQ(chakra::count_nodes(folder_ / "rank.0.et").from_profile, 1U);
}

/// Others see a collective of 400 bytes of this rank, Lockstep a kernel of 40 us.
TEST_F(RecordedNotesTest, CommunicationWithoutPartnersIsACollectiveToOthers) {
  read("");
  write({});
  chakra::ProgramNode node;
  const std::string record = record_named("ncclDevKernel_AllGather_RING_LL");
  chakra::read_program_node(record, node);
  EXPECT_EQ(node.type, 7U);  // COMM_COLL_NODE
  EXPECT_EQ(node.attributes.number("comm_type"), 2);
  EXPECT_EQ(node.attributes.number("comm_size"), 400);
  const auto again = chakra::read_program(folder_ / "rank.0.et");
  EXPECT_TRUE(again.program.collectives.empty());
  EXPECT_EQ(again.program.kernels.size(), 2U);
  EXPECT_EQ(chakra::count_nodes(folder_ / "rank.0.et").collectives, 1U);
}

TEST_F(RecordedNotesTest, OneExecutionTraceForEachProfile) {
  read("");
  const std::vector<pytorch_et::ExecutionTrace> two(2);
  EXPECT_THROW((replay::RecordedNotes{replay_, two}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::testing
