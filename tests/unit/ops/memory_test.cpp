#include "ops/memory_ledger.hpp"

#include <gtest/gtest.h>

#include "ops/program_builder.hpp"

namespace lockstep {
namespace {

// 10 bytes stay; a passage adds 4 and 3 and takes the 4 away: at most 10 + 7, then 13 + 7 in its repetition.
TEST(MemoryLedger, RepeatsAPassage) {
  MemoryLedger memory;
  memory.allocate(MemoryUse::Parameters, Bytes{10});
  const std::size_t first = memory.changes().size();
  memory.allocate(MemoryUse::Workspace, Bytes{4});
  memory.allocate(MemoryUse::Activations, Bytes{3});
  memory.release(MemoryUse::Workspace, Bytes{4});
  memory.repeat(first, memory.changes().size(), 0);
  EXPECT_EQ(memory.now().total(), Bytes{16});
  EXPECT_EQ(memory.peak().total(), Bytes{20});
  EXPECT_EQ(memory.peak()[MemoryUse::Workspace], 4);
}

// The passage's two changes are at instructions 0 and 1; its repetition is two instructions later.
TEST(MemoryLedger, NotesWhereChangesAre) {
  ProgramBuilder program{HostOverheads{}};
  MemoryLedger memory{program};
  memory.allocate(MemoryUse::Workspace, Bytes{4});
  program.host_work("a", Seconds{1});
  memory.release(MemoryUse::Workspace, Bytes{4});
  program.host_work("b", Seconds{1});
  program.repeat(0, 2);
  memory.repeat(0, 2, 2);
  program.on(program.thread("autograd"));
  memory.allocate(MemoryUse::Gradients, Bytes{1});
  const auto& changes = memory.changes();
  ASSERT_EQ(changes.size(), 5);
  EXPECT_EQ(changes[1].at.instruction, 1);
  EXPECT_EQ(changes[2].at.instruction, 2);
  EXPECT_EQ(changes[3].at.instruction, 3);
  EXPECT_EQ(changes[4].at.instruction, 0);
  EXPECT_EQ(changes[4].at.thread, 1);
}

TEST(MemoryLedger, TellsTheUpdateFromWhatWasBefore) {
  MemoryLedger memory;
  memory.allocate(MemoryUse::Parameters, Bytes{10});
  memory.allocate(MemoryUse::Activations, Bytes{5});
  memory.release(MemoryUse::Activations, Bytes{5});
  memory.begin_update();
  EXPECT_EQ(memory.peak_of_update().total(), Bytes{10});
  memory.allocate(MemoryUse::Workspace, Bytes{3});
  EXPECT_EQ(memory.peak_of_update()[MemoryUse::Workspace], 3);
  EXPECT_EQ(memory.peak_of_passes()[MemoryUse::Activations], 5);
  EXPECT_EQ(memory.peak().total(), Bytes{15});
  memory.allocate(MemoryUse::Workspace, Bytes{4});
  EXPECT_EQ(memory.peak().total(), Bytes{17});
}

}  // namespace
}  // namespace lockstep
