#include "traces/replay/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using replay::edited;
using replay::one_by_one;
using replay::StragglerEdit;
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
  edit.kernels = {{"GEM", 4, false}, {"mem*h", 1, true}};
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
