#include "traces/chakra/gpu_nodes.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/simulation.hpp"
#include "tests/support/layered_job.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/script.hpp"
#include "traces/chakra/chakra_job.hpp"
#include "traces/chakra/job_writer.hpp"

namespace lockstep::testing {
namespace {

/// Three kernels on one stream, the third launched after a wait for a fourth on another.
Job waiting_job() {
  ProgramBuilder rank{plain_host()};
  const StreamId a = rank.stream("a");
  const StreamId b = rank.stream("b");
  const auto kernel = [](const char* name) {
    return KernelCall{name, DataType::FP32, Timed{Seconds{2.4e-6}}};
  };
  rank.launch(a, kernel("first"));
  rank.launch(b, kernel("beside"));
  const EventId done = rank.event();
  rank.record(b, done);
  rank.launch(a, kernel("second"));
  rank.wait_event(done);
  rank.launch(a, kernel("third"));
  rank.launch(a, kernel("fourth"));
  Job job;
  job.programs.push_back(std::make_shared<const Program>(std::move(rank).build()));
  job.ranks.push_back({0, 0, {}, {}, {}});
  return job;
}

ChakraFiles astra_files(const test::ScratchFolder& folder) {
  ChakraFiles files;
  files.folder = folder.path();
  files.dialect = ChakraDialect::AstraSim;
  return files;
}

Job read_back(const test::ScratchFolder& folder, std::uint32_t ranks, bool has_groups) {
  ChakraSpec spec;
  spec.chakra = "rank.%d.et";
  spec.ranks = static_cast<int>(ranks);
  if (has_groups) spec.groups = "rank.groups.json";
  std::vector<VertexId> gpus(ranks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  return chakra_job(spec, folder.path(), gpus);
}

void write_for_astra(const Job& job, const test::ScratchFolder& folder) {
  const std::vector<GpuSpec> gpus{shipped_a100()};
  const std::vector<std::uint32_t> of_rank(job.ranks.size(), 0);
  static_cast<void>(write_chakra({&job, gpus, of_rank}, astra_files(folder), [](std::uint32_t) {}));
}

// Five kernels, no host. 2.4 us are 2 whole ones.
TEST(GpuNodes, AreKernelsInWholeMicroseconds) {
  const test::ScratchFolder folder;
  write_for_astra(waiting_job(), folder);
  const Job job = read_back(folder, 1, false);
  std::size_t launches = 0;
  for (const Program::Thread& thread : job.programs.front()->threads) {
    for (const Instruction& i : thread.instructions) launches += i.op == Opcode::Launch ? 1 : 0;
  }
  EXPECT_EQ(launches, 5U);
  for (const KernelCall& call : job.programs.front()->kernels) {
    EXPECT_DOUBLE_EQ(std::get<Timed>(call.work).duration.in_base_units(), 2e-6);
  }
}

// "third" waits for "beside" as its host did: node 2. "fourth" follows "third", which implies it.
TEST(GpuNodes, LaunchesFollowWhatTheirThreadWaitedFor) {
  const Job job = waiting_job();
  const std::vector<KernelTiming> times(4, KernelTiming{2.4e-6});
  const std::string text = chakra::gpu_trace_of_rank(job, 0, times);
  // data_deps is field 5, packed: tag 0x2a, length, ids.
  EXPECT_NE(text.find(std::string{"third\x18\x04\x2a\x02\x02\x03", 11}), std::string::npos);
  EXPECT_NE(text.find(std::string{"fourth\x18\x04\x2a\x01\x04", 11}), std::string::npos);
}

// All members call the same collectives, which meet.
TEST(GpuNodes, CollectivesOfAJobMeet) {
  const test::ScratchFolder folder;
  const LayeredSizes sizes;
  write_for_astra(layered_job(sizes), folder);
  const Job job = read_back(folder, sizes.ranks, true);
  check(job);
  EXPECT_EQ(job.programs.size(), 1U);
  const Program& program = *job.programs.front();
  std::size_t reductions = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& i : thread.instructions) reductions += i.op == Opcode::Collective ? 1 : 0;
  }
  EXPECT_EQ(reductions, static_cast<std::size_t>(sizes.layers));
  EXPECT_EQ(program.collectives.front().size, Bytes{2.0 * 8 * 256 * 256});
}

}  // namespace
}  // namespace lockstep::testing
