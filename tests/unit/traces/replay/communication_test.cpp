/// @file
/// Kernels of libraries that are not NCCL, and what changes of a replay reach.

#include "traces/replay/communication.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/replay/replay_job.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A product of a library that no list knows, an exchange of DeepEP, an all-reduce of symmetric memory.
Replay replay_of_step(const KernelFamilies& families = standard_families()) {
  const test::ScratchFolder folder;
  testing::KinetoText text;
  text.op("aten::mm", 0, 20).call("cudaLaunchKernel", 5, 5, 1).kernel("kernel_57", 20, 100, 7, 1);
  text.op("dispatch", 30, 20).call("cudaLaunchKernel", 35, 5, 2);
  text.kernel("void deep_ep::internode::dispatch<false, 8>(int4*)", 130, 200, 7, 2);
  text.op("symm_mem::multimem_all_reduce_", 60, 20).call("cudaLaunchKernel", 65, 5, 3);
  text.kernel("multimem_all_reduce_kernel", 340, 40, 7, 3);
  folder.write("a.json", text.text());
  return make_replay(read_traces({(folder / "a.json").string()}), 0, families);
}

std::vector<double> times_of(const Replay& replay, const WhatIfSpec& edit) {
  std::vector<KernelOrigins> origins;
  for (const RankProgram& rank : replay.programs) {
    origins.push_back(rank.origins);
  }
  std::vector<double> times;
  const Job job = edited(replay.job, edit, origins);
  for (const KernelCall& kernel : job.programs.front()->kernels) {
    times.push_back(1e6 * std::get<Timed>(kernel.work).duration.in_base_units());
  }
  return times;
}

MATCHER_P(Microseconds, expected, "") {
  return std::abs(arg - expected) < 1e-6;
}

TEST(Communication, OfOtherLibrariesIsCommunication) {
  const Replay replay = replay_of_step();
  EXPECT_THAT(replay.ranks.front().communication, ElementsAre(1, 2));
  EXPECT_THAT(replay.ranks.front().collectives, ::testing::SizeIs(1));
  EXPECT_EQ(replay.ranks.front().collectives.front().kind, CollectiveKind::AllReduce);
  const std::string report = to_text(replay.ranks.front().trace.report);
  EXPECT_THAT(report, HasSubstr("communication of unknown kind and size"));
  EXPECT_THAT(report, HasSubstr("collective of unknown size"));
}

TEST(Communication, IsScaledByItsOwnKeyAlone) {
  const Replay replay = replay_of_step();
  WhatIfSpec faster_gpu;
  faster_gpu.gpu_speed = 2;
  EXPECT_THAT(times_of(replay, faster_gpu),
              ElementsAre(Microseconds(50), Microseconds(200), Microseconds(40)));
  WhatIfSpec fewer_bytes;
  fewer_bytes.communication = 0.5;
  EXPECT_THAT(times_of(replay, fewer_bytes),
              ElementsAre(Microseconds(100), Microseconds(100), Microseconds(20)));
}

TEST(KernelEdits, FindFamiliesAndOperators) {
  const Replay replay = replay_of_step();
  for (const KernelEdit& edit :
       {KernelEdit{"gemm", 2, false, false, "", ""}, KernelEdit{"", 2, false, false, "gemm", ""},
        KernelEdit{"", 2, false, false, "", "aten::m*"},
        KernelEdit{"57", 2, false, false, "gemm", "aten::mm"}}) {
    WhatIfSpec what_if;
    what_if.kernels = {edit};
    EXPECT_THAT(times_of(replay, what_if), ElementsAre(Microseconds(50), Microseconds(200), Microseconds(40)))
        << edit.described();
  }
  WhatIfSpec both;
  both.kernels = {{"57", 2, false, false, "attention", ""}};
  EXPECT_THAT(times_of(replay, both), ElementsAre(Microseconds(100), Microseconds(200), Microseconds(40)));
}

TEST(KernelEdits, SayWhichKernels) {
  KernelEdit nothing;
  nothing.faster = 2;
  EXPECT_THROW(nothing.check(), std::invalid_argument);
  KernelEdit communication;
  communication.faster = 2;
  communication.family = "communication";
  EXPECT_THROW(communication.check(), std::invalid_argument);
}

TEST(Communication, IsAlsoWhatTheUserSays) {
  KernelFamilyRow row;
  row.family = "communication";
  row.kernels = {"kernel_57"};
  EXPECT_THAT(replay_of_step(families_with({row})).ranks.front().communication, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace lockstep::replay
