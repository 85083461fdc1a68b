/// @file
/// A change to a family is the change to each of the kernels that are of it.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <set>

#include "base/random.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/replay/replay_job.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep::replay {
namespace {

constexpr std::array kKernels{"nvjet_hsh_1_",
                              "Cijk_Ailk_2_",
                              "flash_fwd_kernel_3_",
                              "mystery_4_",
                              "vectorized_elementwise_kernel_5_",
                              "ncclDevKernel_AllReduce_6_"};
constexpr std::array kOperators{"aten::mm", "aten::_flash_attention_forward", "aten::add", "mine"};

Replay random_replay(std::uint64_t seed) {
  const Random random{seed, "kernel edits"};
  testing::KinetoText text;
  constexpr int kWork = 30;
  for (int i = 0; i < kWork; ++i) {
    const auto kernel =
        static_cast<std::size_t>(random.uniform(static_cast<std::uint64_t>(2 * i)) * kKernels.size());
    const auto op =
        static_cast<std::size_t>(random.uniform(static_cast<std::uint64_t>(2 * i + 1)) * kOperators.size());
    text.op(kOperators.at(op), 20 * i, 15).call("cudaLaunchKernel", 20 * i + 5, 5, i + 1);
    // A name belongs to one operator, so that it tells the family.
    text.kernel(fmt::format("{}{}", kKernels.at(kernel), op), 1000 + 50 * i, 40, 7, i + 1);
  }
  const test::ScratchFolder folder;
  folder.write("a.json", text.text());
  return make_replay(read_traces({(folder / "a.json").string()}));
}

class KernelEdits : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(KernelEdits, OfAFamilyAreThoseOfEachOfItsNames) {
  const Replay replay = random_replay(GetParam());
  const KernelOrigins& origins = replay.programs.front().origins;
  const Program& program = *replay.job.programs.front();
  for (const char* family : {"gemm", "attention", "elementwise", "other"}) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (origins[i].family == family) {
        names.insert(program.kernels[i].name);
      }
    }
    WhatIfSpec by_family;
    by_family.kernels = {{"", 2, false, false, family, ""}};
    WhatIfSpec by_name;
    for (const std::string& name : names) {
      by_name.kernels.push_back({name, 2, false, false, "", ""});
    }
    EXPECT_EQ(edited(replay.job, by_family, {origins}).programs.front()->kernels,
              edited(replay.job, by_name, {origins}).programs.front()->kernels)
        << family;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KernelEdits, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace lockstep::replay
