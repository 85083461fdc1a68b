#include "ops/program_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::ElementsAre;

/// Every overhead another power of two (in us), so that a sum tells its parts.
HostOverheads distinct_overheads() {
  HostOverheads host;
  host.between_operators = 1_us;
  host.fallback = {.before_first_launch = 2_us,
                   .after_last_launch = 4_us,
                   .between_launches = 8_us,
                   .without_launch = 16_us};
  host.operators["aten::addmm"] = {.before_first_launch = 32_us,
                                   .after_last_launch = 64_us,
                                   .between_launches = 128_us,
                                   .without_launch = 256_us};
  host.runtime_calls = {{RuntimeCall::LaunchKernel, 512_us},     {RuntimeCall::MemcpyAsync, 1024_us},
                        {RuntimeCall::MemsetAsync, 2048_us},     {RuntimeCall::EventRecord, 4096_us},
                        {RuntimeCall::StreamWaitEvent, 8192_us}, {RuntimeCall::LaunchCollective, 16384_us},
                        {RuntimeCall::Synchronize, 32768_us}};
  host.synchronize_return = 65536_us;
  return host;
}

KernelCall gemm(std::int64_t m) {
  return {"sgemm", DataType::FP32, Gemm{.batch = 1, .m = m, .n = 8, .k = 8}};
}

/// Opcodes with lead and cost rounded to microseconds.
struct Line {
  Opcode op;
  long lead;
  long cost;
  bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const Program& program, std::size_t thread = 0) {
  std::vector<Line> lines;
  for (const Instruction& i : program.threads.at(thread).instructions) {
    lines.push_back({i.op, std::lround(i.lead * 1e6), std::lround(i.cost * 1e6)});
  }
  return lines;
}

TEST(ProgramBuilder, ModulesAreBeforeTheirFirstOperator) {
  HostOverheads host = distinct_overheads();
  host.between_module_operators = 3_us;
  ProgramBuilder rank{host};
  for (const char* name : {"aten::linear", "aten::gelu"}) {
    rank.begin(name);
    rank.end();
  }
  rank.on(rank.thread(kAutogradThread));
  rank.begin("aten::linear");  // as a checkpoint calls it: Python is there, but not counted
  rank.end();
  const Program program = std::move(rank).build();
  EXPECT_EQ(lines_of(program, 0).at(0).lead, 3);
  EXPECT_EQ(lines_of(program, 0).at(2).lead, 1);
  EXPECT_EQ(lines_of(program, 1).at(0).lead, 1);
}

TEST(ProgramBuilder, AnOperatorWithOneLaunchIsThreeInstructions) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId compute = rank.stream("compute");
  rank.begin("aten::addmm");
  rank.launch(compute, gemm(1));
  rank.end();
  const Program program = std::move(rank).build();
  // T1 = 1, T2 = 32, T4 = 512, T3 = 64 us.
  EXPECT_THAT(lines_of(program), ElementsAre(Line{Opcode::RangeBegin, 1, 0}, Line{Opcode::Launch, 32, 512},
                                             Line{Opcode::RangeEnd, 64, 0}));
  EXPECT_THAT(program.names, ElementsAre("aten::addmm"));
  EXPECT_THAT(program.streams, ElementsAre("compute"));
  EXPECT_THAT(program.threads[0].name, "main");
}

TEST(ProgramBuilder, LaterLaunchesPayT5AndTheirOwnRuntimeCall) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId compute = rank.stream("compute");
  rank.begin("aten::unlisted");
  rank.launch(compute, gemm(1));
  rank.launch(compute, {"Memcpy DtoD", DataType::FP32, Memcpy{.size = 8_B}});
  rank.launch(compute, {"Memset", DataType::FP32, Memset{.size = 8_B}});
  rank.collective(compute, {.group = rank.group("world"), .size = 8_B, .send_bytes = {}});
  rank.end();
  EXPECT_THAT(lines_of(std::move(rank).build()),
              ElementsAre(Line{Opcode::RangeBegin, 1, 0}, Line{Opcode::Launch, 2, 512},
                          Line{Opcode::Launch, 8, 1024}, Line{Opcode::Launch, 8, 2048},
                          Line{Opcode::Collective, 8, 16384}, Line{Opcode::RangeEnd, 4, 0}));
}

TEST(ProgramBuilder, NestedOperatorsLeaveTheChargesToTheOutermost) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId compute = rank.stream("compute");
  rank.begin_range("forward");
  rank.begin("aten::linear");  // not listed: the fallback
  rank.begin("aten::addmm");
  rank.launch(compute, gemm(1));
  rank.end();
  rank.launch(compute, gemm(1));
  rank.end();
  rank.end_range();
  EXPECT_THAT(
      lines_of(std::move(rank).build()),
      ElementsAre(Line{Opcode::RangeBegin, 0, 0}, Line{Opcode::RangeBegin, 1, 0},
                  Line{Opcode::RangeBegin, 0, 0}, Line{Opcode::Launch, 2, 512}, Line{Opcode::RangeEnd, 0, 0},
                  Line{Opcode::Launch, 8, 512}, Line{Opcode::RangeEnd, 4, 0}, Line{Opcode::RangeEnd, 0, 0}));
}

TEST(ProgramBuilder, AnOperatorWithoutLaunchesLastsItsWholeDuration) {
  ProgramBuilder rank{distinct_overheads()};
  rank.begin("aten::view");
  rank.end();
  EXPECT_THAT(lines_of(std::move(rank).build()),
              ElementsAre(Line{Opcode::RangeBegin, 1, 0}, Line{Opcode::RangeEnd, 16, 0}));
}

TEST(ProgramBuilder, EventsAndWaitsPayTheirCalls) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId compute = rank.stream("compute");
  const StreamId comm = rank.stream("comm");
  const EventId ready = rank.event("ready");
  rank.record(compute, ready);
  rank.stream_wait(comm, ready);
  rank.begin("aten::item");
  rank.launch(compute, {"Memcpy DtoH", DataType::FP32, Memcpy{.size = 4_B}});
  rank.wait_stream(compute);
  rank.end();
  rank.wait_device();
  rank.host_work("data loading", 3_us);
  const Program program = std::move(rank).build();
  // Within the operator the wait pays T5 = 8 and its call 32768 before, the return 65536 after.
  EXPECT_THAT(lines_of(program),
              ElementsAre(Line{Opcode::RecordEvent, 0, 4096}, Line{Opcode::StreamWait, 0, 8192},
                          Line{Opcode::RangeBegin, 1, 0}, Line{Opcode::Launch, 2, 1024},
                          Line{Opcode::WaitStream, 8 + 32768, 65536}, Line{Opcode::RangeEnd, 4, 0},
                          Line{Opcode::WaitDevice, 32768, 65536}, Line{Opcode::HostWork, 0, 3}));
  EXPECT_EQ(program.threads[0].instructions[1].stream, comm);
  EXPECT_EQ(program.events, 1U);
}

TEST(ProgramBuilder, ThreadsKeepTheirOwnOperators) {
  ProgramBuilder rank{distinct_overheads()};
  const ThreadId autograd = rank.thread("autograd");
  const FlagId go = rank.flag("backward");
  rank.begin("aten::addmm");
  rank.post(go);
  rank.on(autograd);
  rank.await(go, 3_us);
  rank.begin("aten::unlisted");
  rank.end();
  rank.on(rank.thread("main"));
  rank.end();
  const Program program = std::move(rank).build();
  EXPECT_EQ(program.threads.size(), 2U);
  EXPECT_THAT(lines_of(program, 0), ElementsAre(Line{Opcode::RangeBegin, 1, 0}, Line{Opcode::Post, 0, 0},
                                                Line{Opcode::RangeEnd, 256, 0}));
  // Top level on its own thread: charged although `main` is inside an operator.
  EXPECT_THAT(lines_of(program, 1), ElementsAre(Line{Opcode::Await, 0, 3}, Line{Opcode::RangeBegin, 1, 0},
                                                Line{Opcode::RangeEnd, 16, 0}));
}

TEST(ProgramBuilder, EqualCallsAndNamesAreStoredOnce) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId compute = rank.stream("compute");
  const GroupId world = rank.group("world");
  for (int layer = 0; layer < 3; ++layer) {
    rank.begin("aten::addmm");
    rank.launch(compute, gemm(64));
    rank.launch(compute, gemm(128));
    rank.collective(compute, {.group = world, .size = 1_MiB, .send_bytes = {}});
    rank.end();
  }
  const std::uint32_t slot = rank.launch_per_rank(compute);
  const std::uint32_t call = rank.intern(gemm(64));
  const Program program = std::move(rank).build();
  EXPECT_EQ(program.kernels.size(), 2U);
  EXPECT_EQ(program.collectives.size(), 1U);
  EXPECT_EQ(program.names.size(), 1U);
  EXPECT_EQ(slot, 0U);
  EXPECT_EQ(program.kernels[call], gemm(64));
  EXPECT_TRUE(program.threads[0].instructions.back().per_rank);
}

TEST(ProgramBuilder, RepeatsAPassage) {
  ProgramBuilder rank{distinct_overheads()};
  const StreamId stream = rank.stream("compute");
  rank.host_work("before", 1_us);
  const std::size_t first = rank.position();
  rank.begin("aten::addmm");
  rank.launch(stream, gemm(1));
  rank.end();
  rank.repeat(first, rank.position());
  const Program program = std::move(rank).build();
  const auto& instructions = program.threads.front().instructions;
  ASSERT_EQ(instructions.size(), 7U);
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(instructions[i].op, instructions[i + 3].op);
    EXPECT_EQ(instructions[i].operand, instructions[i + 3].operand);
    EXPECT_EQ(instructions[i].lead, instructions[i + 3].lead);
    EXPECT_EQ(instructions[i].cost, instructions[i + 3].cost);
  }
}

TEST(ProgramBuilder, RefusesToRepeatWithinAnOperator) {
  ProgramBuilder rank{distinct_overheads()};
  rank.host_work("before", 1_us);
  rank.begin("aten::addmm");
  EXPECT_THROW(rank.repeat(0, 1), std::logic_error);
}

TEST(ProgramBuilder, EventsWithoutANameAreNew) {
  ProgramBuilder rank{distinct_overheads()};
  const EventId named = rank.event("inputs");
  const EventId first = rank.event();
  EXPECT_NE(first, named);
  EXPECT_NE(rank.event(), first);
  EXPECT_EQ(rank.event("inputs"), named);
  EXPECT_EQ(std::move(rank).build().events, 3U);
}

TEST(ProgramBuilder, UnbalancedRangesAreRefused) {
  ProgramBuilder left_open{distinct_overheads()};
  left_open.begin_range("step");
  EXPECT_THROW((void)std::move(left_open).build(), std::logic_error);
  ProgramBuilder crossed{distinct_overheads()};
  crossed.begin("aten::addmm");
  EXPECT_THROW(crossed.end_range(), std::logic_error);
  ProgramBuilder none_open{distinct_overheads()};
  EXPECT_THROW(none_open.end(), std::logic_error);
}

TEST(ProgramBuilder, The257thStreamIsRefused) {
  ProgramBuilder rank{distinct_overheads()};
  for (int stream = 0; stream < 256; ++stream) {
    rank.stream(std::to_string(stream));
  }
  EXPECT_EQ(rank.stream("255"), 255);
  EXPECT_THROW(rank.stream("one more"), std::length_error);
}

std::size_t always_equal(const int& /*value*/) {
  return 7;
}

TEST(InternTable, CollidingValuesStayDifferent) {
  InternTable<int, &always_equal> table;
  EXPECT_EQ(table.intern(10), 0U);
  EXPECT_EQ(table.intern(20), 1U);
  EXPECT_EQ(table.intern(10), 0U);
  EXPECT_THAT(table.values(), ElementsAre(10, 20));
}

TEST(CallHash, TellsFieldsApart) {
  // Not required for correctness, but without it interning is a linear search.
  EXPECT_EQ(hash_of(gemm(64)), hash_of(gemm(64)));
  EXPECT_NE(hash_of(gemm(64)), hash_of(gemm(65)));
  EXPECT_NE(hash_of(KernelCall{"a", DataType::FP32, Timed{1_us}}),
            hash_of(KernelCall{"b", DataType::FP32, Timed{1_us}}));
  const CollectiveCall even{.size = 8_B, .send_bytes = {4, 4}};
  const CollectiveCall uneven{.size = 8_B, .send_bytes = {3, 5}};
  EXPECT_NE(hash_of(even), hash_of(uneven));
}

}  // namespace
}  // namespace lockstep
