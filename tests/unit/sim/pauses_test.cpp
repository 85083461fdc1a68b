#include "sim/pauses.hpp"

#include <gtest/gtest.h>

#include "ops/collectives/collective_planner.hpp"
#include "tests/support/contended_job.hpp"
#include "tests/support/rail_fabric.hpp"

namespace lockstep {
namespace {

constexpr Instruction launch(std::uint8_t stream) {
  return {Opcode::Launch, stream, false, 0, 0, 0, 5e-6F};
}
constexpr Instruction collective(std::uint8_t stream) {
  return {Opcode::Collective, stream, false, 0, 0, 0, 5e-6F};
}
constexpr Instruction record(std::uint8_t stream, std::uint32_t event) {
  return {Opcode::RecordEvent, stream, false, 0, event, 0, 1e-6F};
}
constexpr Instruction wait(std::uint8_t stream, std::uint32_t event) {
  return {Opcode::StreamWait, stream, false, 0, event, 0, 1e-6F};
}

Program program_of(std::vector<Instruction> instructions) {
  Program program;
  program.streams = {"compute", "communication"};
  program.events = 2;
  program.groups = {"world"};
  program.kernels = {{"kernel", DataType::FP32, Timed{Seconds{10e-6}}}};
  program.collectives = {{CollectiveKind::AllReduce, DataType::FP32, 0, Bytes{1e6}, {}, 0}};
  program.threads.push_back({"main", std::move(instructions)});
  return program;
}

/// Tells by instruction whether the thread may pause there for the stream that the instruction uses.
std::vector<bool> allowed(const Program& program) {
  const Pauses pauses{program, 0, {KernelTiming{}}};
  std::vector<bool> allowed;
  for (std::uint32_t i = 0; i < program.threads[0].instructions.size(); ++i) {
    allowed.push_back(pauses.allow(i));
  }
  return allowed;
}

// The collective waits for event 0 of the compute stream (index 1): a pause up to there delays it by nothing.
// Later pauses of that step would, until the next one's, which is gated again.
TEST(Pauses, AreHarmlessBeforeARecordThatTheCollectiveWaitsFor) {
  const Program program =
      program_of({launch(0), record(0, 0), wait(1, 0), launch(0), collective(1), launch(0)});
  EXPECT_EQ(allowed(program), (std::vector<bool>{true, true, true, false, true, true}));
}

TEST(Pauses, AreForbiddenWhereACollectiveWaitsForNothing) {
  const Program program = program_of({launch(0), launch(0), collective(1), launch(0)});
  // The last one because of the next step's; for the collective's own stream, because nobody sees compute
  // kernels.
  EXPECT_EQ(allowed(program), (std::vector<bool>{false, false, true, false}));
}

TEST(Pauses, AreHarmlessWhenTheThreadWaitsForTheStreamFirst) {
  const Program program = program_of(
      {launch(0), {Opcode::WaitStream, 0, false, 0, 0, 0, 1e-6F}, launch(0), collective(1), launch(0)});
  EXPECT_EQ(allowed(program), (std::vector<bool>{true, true, false, true, true}));
}

// Two streams of collectives per rank, the second waits for nobody: the compute stream is blocked by the
// first with a long backlog when the second is due. Stepped runs never pause, so their dates are the
// reference.
TEST(Pauses, LeaveEveryDateAlone) {
  const Fabric fabric = testing::rail_fabric(2);
  std::vector<Instruction> code{collective(1), record(1, 0), wait(0, 0)};
  code.insert(code.end(), 100, launch(0));
  code.push_back(collective(2));
  code.insert(code.end(), 100, launch(0));
  code.push_back({Opcode::WaitDevice, 0, false, 0, 0, 0, 1e-6F});
  Program program = program_of(std::move(code));
  program.streams.emplace_back("other");
  program.collectives[0].size = Bytes{1e9};
  Job job;
  job.programs.push_back(std::make_shared<const Program>(std::move(program)));
  job.steps = 3;
  job.groups.push_back({"world", {}});
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    job.groups[0].ranks.push_back(rank);
    job.ranks.push_back({fabric.gpus()[rank], 0, {0}, {}, {}});
  }
  const CollectivePlanner planner{fabric};
  auto input = testing::input_for(job, fabric, [&](const auto& request, std::span<const VertexId> members) {
    return planner.plan(request, members);
  });
  input.variation = testing::jitter(0.1);
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  const SimulationResult ahead = simulate(input, options, nullptr);
  options.stepped = true;
  const SimulationResult stepped = simulate(input, options, nullptr);
  EXPECT_EQ(ahead.fingerprint, stepped.fingerprint);
  EXPECT_EQ(ahead.step_ends, stepped.step_ends);
}

}  // namespace
}  // namespace lockstep
