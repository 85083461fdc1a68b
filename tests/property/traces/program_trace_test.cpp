/// @file
/// Programs written as Chakra traces come back as Programs that do the same at the same time, to the last
/// bit.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <filesystem>

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

void write(const Job& job, const std::filesystem::path& folder, bool gzip) {
  const std::vector<GpuSpec> models{tick_gpu()};
  const std::vector<std::uint32_t> model_of_rank(job.ranks.size(), 0);
  (void)write_chakra({&job, models, model_of_rank}, {folder, "r", gzip}, [](std::uint32_t) {});
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
  const Fabric fabric = tick_machine(random.ranks);
  const Job job = made(random, {fabric.gpus().begin(), fabric.gpus().end()});
  const CollectivePlanner planner{fabric, rings()};
  const test::ScratchFolder folder;
  write(job, folder.path() / "a", gzip);
  const Job again = read(folder.path() / "a", fabric, job, gzip);
  check(again);
  RC_ASSERT(difference(result_of(job, fabric, planner, random.launch_queue),
                       result_of(again, fabric, planner, random.launch_queue)) == "");
  // The job that came back writes the very same traces.
  write(again, folder.path() / "b", gzip);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const std::string name = fmt::format("r.{}.et{}", rank, gzip ? ".gz" : "");
    RC_ASSERT(read_whole_file(folder.path() / "a" / name) == read_whole_file(folder.path() / "b" / name));
  }
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
  write(job, folder.path(), false);
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
