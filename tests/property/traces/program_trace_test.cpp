/// @file
/// Programs written as Chakra traces come back as Programs that do the same at the same time, to the last
/// bit.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/random.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "tests/support/random_job.hpp"
#include "tests/support/same_result.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/chakra/chakra_job.hpp"
#include "traces/chakra/job_writer.hpp"

namespace lockstep::testing {
namespace {

SimulationResult result_of(const Job& job, const Fabric& fabric, const CollectivePlanner& planner,
                           int launch_queue) {
  const SimulationInput input = input_of(job, fabric, planner);
  SimulationOptions options;
  options.engine = EngineMode::Bare;
  options.launch_queue = static_cast<std::uint32_t>(launch_queue);
  return simulate(input, options, nullptr);
}

ChakraExport write(const Job& job, const std::filesystem::path& folder, bool gzip, bool fold = false) {
  const std::vector<GpuSpec> models{tick_gpu()};
  const std::vector<std::uint32_t> model_of_rank(job.ranks.size(), 0);
  ChakraFiles files{folder, "r", gzip};
  files.fold = fold;
  return write_chakra({&job, models, model_of_rank}, files, [](std::uint32_t) {});
}

Job read(const std::filesystem::path& folder, const Fabric& fabric, const Job& original, bool gzip) {
  ChakraSpec spec;
  spec.chakra = gzip ? "r.%d.et.gz" : "r.%d.et";
  spec.groups = "r.groups.json";
  spec.ranks = static_cast<int>(original.ranks.size());
  spec.repeats = original.steps;
  return chakra_job(spec, folder, fabric.gpus());
}

RC_GTEST_PROP(ProgramTraceProperty, ComesBackAsTheSame, ()) {
  const RandomJob random = *random_job();
  const bool gzip = *rc::gen::arbitrary<bool>();
  const bool fold = *rc::gen::arbitrary<bool>();
  const Fabric fabric = tick_machine(random.ranks);
  const Job job = made(random, {fabric.gpus().begin(), fabric.gpus().end()});
  const CollectivePlanner planner{fabric, rings()};
  const test::ScratchFolder folder;
  (void)write(job, folder.path() / "a", gzip, fold);
  const Job again = read(folder.path() / "a", fabric, job, gzip);
  check(again);
  RC_ASSERT(difference(result_of(job, fabric, planner, random.launch_queue),
                       result_of(again, fabric, planner, random.launch_queue)) == "");
  // The job that came back writes the very same traces.
  (void)write(again, folder.path() / "b", gzip, fold);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::string name = fmt::format("r.{}.et{}", rank, gzip ? ".gz" : "");
    RC_ASSERT(read_whole_file(folder.path() / "a" / name) == read_whole_file(folder.path() / "b" / name));
  }
}

// Two pairs of ranks send each other messages: each rank names itself and its group, but in shared files.
TEST(ProgramTrace, RanksThatDoAlikeShareAFile) {
  const Fabric fabric = tick_machine(4);
  const auto ends = [](const char* group, CollectiveKind kind, int peer) {
    Script script{{"nccl"}, {group}};
    script.collective(0, {kind, DataType::FP32, 0, worth(8), {}, peer}).wait_device();
    return script;
  };
  Job job = job_of(fabric,
                   {ends("a", CollectiveKind::Send, 1), ends("a", CollectiveKind::Receive, 0),
                    ends("b", CollectiveKind::Send, 1), ends("b", CollectiveKind::Receive, 0)},
                   {{"a", {0, 1}}, {"b", {2, 3}}});
  job.ranks[2].program = 0;
  job.ranks[3].program = 1;
  job.programs.resize(2);
  const test::ScratchFolder folder;
  EXPECT_EQ(write(job, folder.path() / "each", false).different, 4U);
  EXPECT_EQ(write(job, folder.path() / "folded", false, true).different, 2U);
  const Job again = read(folder.path() / "folded", fabric, job, false);
  ASSERT_EQ(again.groups.size(), 2U);
  EXPECT_EQ(again.groups[1].name, "b");
  EXPECT_EQ(again.ranks[3].groups, job.ranks[3].groups);
  // Without the groups of each rank nobody knows whom a shared trace means.
  std::ofstream{folder.path() / "folded" / "r.groups.json"} << R"({"1": [0, 1], "2": [2, 3]})";
  EXPECT_THROW((void)read(folder.path() / "folded", fabric, job, false), InputError);
}

// Whatever a file's bytes are turned into, it is read or refused with a message: never a crash.
TEST(ProgramTrace, BrokenFilesAreRefused) {
  const Fabric fabric = tick_machine(2);
  Script script{{"compute", "nccl"}, {"world"}};
  script.work(3).launch(0, 5, 1).record(0, 0).stream_wait(1, 0).all_reduce(1, 0, worth(8)).wait_device();
  script.on("second").await(0).copy(0, worth(4), Memcpy::Path::HostToDevice).wait_stream(0);
  script.on("main").post(0);
  const Job job = job_of(fabric, {script, script}, {{"world", {0, 1}}});
  const test::ScratchFolder folder;
  (void)write(job, folder.path(), false);
  const std::string sound = read_whole_file(folder.path() / "r.0.et");
  const Random random{7, "broken traces"};
  std::uint64_t draws = 0;
  int refused = 0;
  constexpr int kVariants = 3000;
  for (int variant = 0; variant < kVariants; ++variant) {
    std::string broken = sound;
    const auto place = static_cast<std::size_t>(random.uniform(draws++) * static_cast<double>(sound.size()));
    if (variant % 4 == 0) {
      broken.resize(place);
    } else {
      broken[place] = static_cast<char>(static_cast<int>(random.uniform(draws++) * 256));
    }
    std::filesystem::remove(folder.path() / "r.0.et");
    write_whole_file(folder.path() / "r.0.et", broken);
    try {
      check(read(folder.path(), fabric, job, false));
    } catch (const InputError&) {
      ++refused;
    } catch (const std::invalid_argument&) {
      ++refused;  // ranks that do not fit each other: check() of the Job
    }
  }
  EXPECT_GT(refused, kVariants / 3);
  EXPECT_LT(refused, kVariants);
}

}  // namespace
}  // namespace lockstep::testing
