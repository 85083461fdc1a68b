#include "base/forked_tasks.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace lockstep {
namespace {

using std::chrono::seconds;

std::vector<EndedTask> all_of(ForkedTasks& tasks) {
  std::vector<EndedTask> all;
  while (tasks.running() > 0) {
    for (EndedTask& task : tasks.wait(seconds{10})) {
      all.push_back(std::move(task));
    }
  }
  return all;
}

TEST(ForkedTasks, TellHowAChildEndedAndWhatItSaid) {
  ForkedTasks tasks;
  tasks.start(7, [] {
    std::printf("out");
    std::fprintf(stderr, "err");
    return 3;
  });
  const std::vector<EndedTask> ended = all_of(tasks);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().task, 7U);
  EXPECT_EQ(ended.front().exit_code, 3);
  EXPECT_EQ(ended.front().printed, "out");
  EXPECT_EQ(ended.front().said, "err");
  EXPECT_EQ(tasks.interruption(), 0);
}

/// A terminal's Ctrl-C goes to the whole group: the child may be gone before the parent has it.
TEST(ForkedTasks, AChildThatCtrlCEndedIsAnInterruption) {
  ForkedTasks tasks;
  tasks.start(0, [] {
    end_by(SIGINT);
    return 0;
  });
  EXPECT_EQ(all_of(tasks).front().exit_code, 128 + SIGINT);
  EXPECT_EQ(tasks.interruption(), SIGINT);
}

TEST(ForkedTasks, AChildThatWasKilledIsNone) {
  ForkedTasks tasks;
  tasks.start(0, [] {
    end_by(SIGTERM);
    return 0;
  });
  EXPECT_EQ(all_of(tasks).front().exit_code, 128 + SIGTERM);
  EXPECT_EQ(tasks.interruption(), 0);
}

}  // namespace
}  // namespace lockstep
