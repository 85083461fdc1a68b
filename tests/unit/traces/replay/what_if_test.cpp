#include "traces/replay/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using replay::edited;
using replay::one_by_one;
using replay::StragglerEdit;
using replay::StragglerWork;
using replay::WhatIfSpec;

double ticks(const Program& program, std::uint32_t kernel) {
  return std::get<Timed>(program.kernels[kernel].work).duration.in_base_units() / kTick;
}

Job two_ranks(double first, double second) {
  Job job;
  for (const double duration : {first, second}) {
    Script script({"s"});
    script.launch(0, duration, 3, "gemm")
        .launch(0, 8, 3, "Memcpy DtoH")
        .wait_stream(0, 2)
        .launch(0, 5, 3, "ncclKernel");
    job.programs.push_back(std::make_shared<Program>(script.program()));
  }
  return job;
}

TEST(WhatIf, FasterGpuLeavesCopiesAndCommunicationAsTheyAre) {
  WhatIfSpec edit;
  edit.gpu_speed = 2;
  const Job job = edited(two_ranks(10, 10), edit);
  EXPECT_EQ(ticks(*job.programs[0], 0), 5);
  EXPECT_EQ(ticks(*job.programs[0], 1), 8);
  EXPECT_EQ(ticks(*job.programs[0], 2), 5);
}

TEST(WhatIf, KernelsAreFoundByNameInAnyCase) {
  WhatIfSpec edit;
  edit.kernels = {{"GEM", 4, false, false}, {"mem*h", 1, true, false}};
  const Job job = edited(two_ranks(10, 10), edit);
  EXPECT_EQ(ticks(*job.programs[0], 0), 2.5);
  EXPECT_EQ(job.programs[0]->threads[0].instructions[1].op, Opcode::HostWork);  // its launch is gone
}

TEST(WhatIf, GraphsPayOneLaunchBetweenWaits) {
  WhatIfSpec edit;
  edit.cuda_graphs = true;
  const Job job = edited(two_ranks(10, 10), edit);
  const auto& code = job.programs[0]->threads[0].instructions;
  EXPECT_EQ(code[0].cost, static_cast<float>(3 * kTick));
  EXPECT_EQ(code[1].cost, 0);
  EXPECT_EQ(code[2].cost, static_cast<float>(2 * kTick));  // the wait
  EXPECT_EQ(code[3].cost, static_cast<float>(3 * kTick));
}

TEST(WhatIf, StragglersTakeTheTimeOfTheOthers) {
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Fastest;
  const Job job = edited(two_ranks(10, 30), edit);
  for (const auto& program : job.programs) {
    EXPECT_EQ(ticks(*program, program->threads[0].instructions[0].operand), 10);
  }
}

/// Three in a row, then a copy, then one more: the row becomes its longest, the last one stays.
TEST(WhatIf, FusedKernelsTakeAsLongAsTheLongest) {
  Script script({"s", "t"});
  script.launch(0, 4, 1, "add").launch(0, 9, 1, "add").launch(1, 7, 1, "add").launch(0, 2, 1, "add");
  script.launch(0, 3, 1, "Memcpy DtoD").launch(0, 5, 1, "add");
  Job job;
  job.programs.push_back(std::make_shared<Program>(script.program()));
  WhatIfSpec edit;
  edit.kernels = {{"add", 1, false, true}};
  const Job made = edited(job, edit);
  const auto& code = made.programs[0]->threads[0].instructions;
  EXPECT_EQ(ticks(*made.programs[0], code[0].operand), 9);
  EXPECT_EQ(code[1].op, Opcode::HostWork);
  EXPECT_EQ(ticks(*made.programs[0], code[2].operand), 7);  // of another stream
  EXPECT_EQ(code[3].op, Opcode::HostWork);
  EXPECT_EQ(ticks(*made.programs[0], code[5].operand), 5);
}

TEST(WhatIf, CollectivesOfAKindSendLess) {
  Script script({"s"}, {"world"});
  script.all_reduce(0, 0, worth(8)).launch(0, 6, 1, "ncclDevKernel_AllReduce_Sum_f32");
  script.launch(0, 6, 1, "ncclDevKernel_SendRecv");
  Job job;
  job.programs.push_back(std::make_shared<Program>(script.program()));
  WhatIfSpec edit;
  edit.collectives = {{"all_reduce", 0.5, Seconds{0}}};
  const Job made = edited(job, edit);
  EXPECT_EQ(made.programs[0]->collectives[0].size, worth(4));
  EXPECT_EQ(ticks(*made.programs[0], 0), 3);
  EXPECT_EQ(ticks(*made.programs[0], 1), 6);
}

TEST(WhatIf, QuantisingTakesTimeBeforeItIsSent) {
  Script script({"s"}, {"world"});
  script.all_reduce(0, 0, worth(8));
  Program program = script.program();
  auto& code = program.threads[0].instructions;
  code.insert(code.begin(), Instruction{.op = Opcode::StartLag, .lead = 1, .cost = 2});
  Job job;
  job.programs.push_back(std::make_shared<Program>(program));
  WhatIfSpec edit;
  edit.collectives = {{"all_reduce", 1, Seconds{4}}};
  const Job made = edited(job, edit);
  EXPECT_EQ(made.programs[0]->threads[0].instructions[0].lead, 5);
  EXPECT_EQ(made.programs[0]->threads[0].instructions[0].cost, 6);
}

TEST(WhatIf, StragglersAreCuredByKernelAndRank) {
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Fastest;
  edit.straggler_ranks = {0};
  const Job of_rank_0 = edited(two_ranks(30, 10), edit);
  const auto time_of = [](const Program& program) {
    return ticks(program, program.threads[0].instructions[0].operand);
  };
  EXPECT_EQ(time_of(*of_rank_0.programs[0]), 10);
  edit.straggler_ranks = {1};
  EXPECT_EQ(time_of(*edited(two_ranks(30, 10), edit).programs[0]), 30);
  edit.straggler_ranks = {};
  edit.straggler_kernels = "nccl";
  EXPECT_EQ(time_of(*edited(two_ranks(30, 10), edit).programs[0]), 30);
  edit.straggler_ranks = {2};
  EXPECT_THROW((void)edited(two_ranks(30, 10), edit), std::invalid_argument);
}

/// The median of an even number of ranks is the mean of the two in the middle.
TEST(WhatIf, MedianOfTwoIsBetweenThem) {
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Median;
  const Job job = edited(two_ranks(10, 30), edit);
  EXPECT_EQ(ticks(*job.programs[1], job.programs[1]->threads[0].instructions[0].operand), 20);
}

/// Loads data, runs an operator with a kernel in it, waits and goes on; @p times: before the operator, in
/// it before its launch, of the launch, after the wait.
Job loading_ranks(const std::vector<std::array<double, 4>>& times) {
  Job job;
  for (const auto& [before, within, launch, after] : times) {
    Script script({"s"});
    script.work(0).after(before).launch(0, 8, launch).after(within).work(0).wait_stream(0, after);
    Program program = script.program();
    program.names = {"work", "aten::mm"};
    auto& code = program.threads[0].instructions;
    code[0].op = Opcode::RangeBegin;
    code[2].op = Opcode::RangeEnd;
    code[0].operand = 1;
    job.programs.push_back(std::make_shared<Program>(std::move(program)));
  }
  return job;
}

/// The four times of loading_ranks(), ticks.
std::vector<double> host_times(const Program& program) {
  const auto& code = program.threads[0].instructions;
  std::vector<double> times;
  for (const float seconds : {code[0].lead, code[1].lead, code[1].cost, code[3].cost}) {
    times.push_back(seconds / kTick);
  }
  return times;
}

TEST(WhatIf, HostStragglersTakeTheTimeOfTheOthersStepByStep) {
  const Job recorded = loading_ranks({{4, 6, 1, 2}, {40, 2, 3, 2}, {8, 4, 2, 20}});
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Median;
  edit.straggler_work = StragglerWork::Host;
  for (const auto& program : edited(recorded, edit).programs) {
    EXPECT_THAT(host_times(*program), ::testing::ElementsAre(8, 4, 2, 2));
  }
  edit.stragglers = StragglerEdit::Fastest;
  edit.straggler_ranks = {1};
  const Job one = edited(recorded, edit);
  EXPECT_THAT(host_times(*one.programs[0]), ::testing::ElementsAre(4, 6, 1, 2));
  EXPECT_THAT(host_times(*one.programs[1]), ::testing::ElementsAre(4, 2, 1, 2));
  edit.straggler_operators = "MM";
  EXPECT_THAT(host_times(*edited(recorded, edit).programs[1]), ::testing::ElementsAre(40, 2, 1, 2));
}

TEST(WhatIf, StagesAreComparedWithThemselves) {
  const Job recorded = loading_ranks({{4, 6, 1, 2}, {5, 6, 1, 2}, {9, 6, 1, 2}, {8, 6, 1, 2}});
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Fastest;
  edit.straggler_work = StragglerWork::Both;
  edit.straggler_stages = {{1, 3}, {2}};
  const Job made = edited(recorded, edit);
  std::vector<double> loading;
  for (const auto& program : made.programs) {
    loading.push_back(host_times(*program).front());
  }
  EXPECT_THAT(loading, ::testing::ElementsAre(4, 5, 9, 5));
  edit.straggler_stages = {{1, 3}, {3}};
  EXPECT_THROW((void)edited(recorded, edit), std::invalid_argument);
}

/// Work that only some ranks do, between what all do, shifts nothing.
TEST(WhatIf, HostStepsThatSomeRanksHaveNotStay) {
  Job recorded = loading_ranks({{4, 6, 1, 2}, {40, 2, 3, 2}});
  Program other = *recorded.programs[1];
  other.names.emplace_back("aten::add");
  auto& code = other.threads[0].instructions;
  code.insert(code.begin(), {{.op = Opcode::RangeBegin, .operand = 2, .lead = 7},
                             {.op = Opcode::Launch, .lead = 5},
                             {.op = Opcode::RangeEnd, .lead = 3}});
  recorded.programs[1] = std::make_shared<Program>(std::move(other));
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Fastest;
  edit.straggler_work = StragglerWork::Host;
  Program made = *edited(recorded, edit).programs[1];
  auto& kept = made.threads[0].instructions;
  EXPECT_EQ(kept[0].lead, 7);
  EXPECT_EQ(kept[1].lead, 5);
  kept.erase(kept.begin(), kept.begin() + 3);
  EXPECT_THAT(host_times(made), ::testing::ElementsAre(4, 2, 1, 2));
}

TEST(WhatIf, CuresOfKernelsAndHostAreToldApart) {
  WhatIfSpec edit;
  edit.stragglers = StragglerEdit::Median;
  edit.straggler_work = StragglerWork::Both;
  const auto changes = one_by_one(edit);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[1].name, "stragglers: median, host");
  EXPECT_EQ(changes[2].name, "stragglers: median, kernels and host");
  edit.host_speed = 2;
  EXPECT_EQ(one_by_one(edit).back().name, "all together");
  EXPECT_EQ(one_by_one(edit).size(), 5U);
}

TEST(WhatIf, ChangesAreToldApart) {
  WhatIfSpec edit;
  EXPECT_TRUE(one_by_one(edit).empty());
  edit.cuda_graphs = true;
  EXPECT_EQ(one_by_one(edit).size(), 1U);
  edit.host_speed = 2;
  const auto changes = one_by_one(edit);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].name, "host 2 times as fast");
  EXPECT_FALSE(changes[0].edit.cuda_graphs);
  EXPECT_EQ(changes[2].name, "all together");
}

}  // namespace
}  // namespace lockstep::testing
