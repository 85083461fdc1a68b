#include "ops/workload/batch_loader.hpp"

#include <gtest/gtest.h>

#include <array>

#include "ops/workload/layers/kernels.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr std::int64_t kSamples = 32;

/// Two ranks of one node.
TrainingSetup setup_of(const LoaderSpec& loader) {
  static constexpr std::array<VertexId, 2> kGpus{0, 1};
  static constexpr std::array<int, 2> kNodes{0, 0};
  TrainingSetup setup;
  setup.loader = loader;
  setup.gpus = kGpus;
  setup.gpu_nodes = kNodes;
  return setup;
}

/// The program of a step that takes @p batches batches and copies 1 MB of each.
Program program_of(const LoaderSpec& loader, int batches = 1, Bytes size = 1_MB) {
  StepWriter step{plain_host(), 2, FrameworkSpec{}, Precision::FP32};
  BatchLoader batch_loader{step, setup_of(loader), kSamples};
  batch_loader.begin_step(batches);
  for (int batch = 0; batch < batches; ++batch) {
    batch_loader.next();
    batch_loader.copy(size, BatchLoader::Copy::NonBlocking);
  }
  return step.take_program();
}

std::vector<Opcode> opcodes_of(const Program& program, std::size_t thread) {
  std::vector<Opcode> all;
  for (const Instruction& instruction : program.threads.at(thread).instructions) {
    if (instruction.op != Opcode::RangeBegin && instruction.op != Opcode::RangeEnd) {
      all.push_back(instruction.op);
    }
  }
  return all;
}

TEST(LoaderSpec, ProcessesShareTheCoresOfANode) {
  const LoaderSpec four{.workers = 4, .time_per_sample = 8_ms, .cores = 20};
  EXPECT_DOUBLE_EQ(four.contention(2), 1);  // 2 x (4 workers + 1) on 20 cores
  EXPECT_DOUBLE_EQ(four.contention(8), 2);  // 40 on 20
  EXPECT_DOUBLE_EQ(LoaderSpec{.workers = 4}.contention(8), 1);
}

TEST(LoaderSpec, WorkersTakeTurns) {
  const LoaderSpec four{.workers = 4, .time_per_sample = 8_ms, .cores = 20};
  EXPECT_EQ(four.interval(32, 2), 64_ms);   // 32 samples of 8 ms by 4
  EXPECT_EQ(four.interval(32, 8), 128_ms);  // by half a core each
  EXPECT_EQ((LoaderSpec{.time_per_sample = 8_ms}.interval(32, 8)), 256_ms);
}

TEST(BatchLoader, WithoutAnythingToSayItWritesNothing) {
  const Program program = program_of({});
  EXPECT_EQ(program.threads.size(), 1U);
  EXPECT_EQ(opcodes_of(program, 0), (std::vector{Opcode::Launch}));
}

TEST(BatchLoader, TheTrainingProcessPreparesWhatNoWorkerDoes) {
  const Program program = program_of({.time_per_sample = 2_ms, .time_per_batch = 1_ms});
  EXPECT_EQ(opcodes_of(program, 0), (std::vector{Opcode::HostWork, Opcode::Launch}));
  EXPECT_FLOAT_EQ(program.threads[0].instructions.front().cost, 65e-3F);  // 32 x 2 ms + 1 ms
}

/// The first batch is there; the next is when the workers have prepared it.
TEST(BatchLoader, WorkersHandOverAndTheTrainingProcessWaits) {
  const Program program = program_of({.workers = 4, .time_per_sample = 8_ms, .time_per_batch = 1_ms}, 2);
  ASSERT_EQ(program.threads.size(), 2U);
  EXPECT_EQ(opcodes_of(program, 0), (std::vector{Opcode::Await, Opcode::HostWork, Opcode::Launch,  //
                                                 Opcode::Await, Opcode::HostWork, Opcode::Launch}));
  EXPECT_EQ(opcodes_of(program, 1),
            (std::vector{Opcode::Post, Opcode::HostWork, Opcode::Post, Opcode::HostWork}));
  EXPECT_FLOAT_EQ(program.threads[1].instructions[1].cost, 64e-3F);
}

TEST(BatchLoader, TheHostStagesWhatIsNotPinned) {
  const LoaderSpec pageable{.pin_memory = false};
  EXPECT_EQ(opcodes_of(program_of(pageable), 0), (std::vector{Opcode::Launch, Opcode::WaitStream}));
  EXPECT_EQ(opcodes_of(program_of(pageable, 1, 32_kB), 0), (std::vector{Opcode::Launch}));  // at once
  const Program program = program_of(pageable);
  EXPECT_FALSE(std::get<Memcpy>(program.kernels.front().work).pinned);
}

}  // namespace
}  // namespace lockstep
