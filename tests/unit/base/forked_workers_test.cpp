#include "base/forked_workers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// All tasks, by number.
std::vector<EndedTask> all_of(ForkedWorkers& workers, std::size_t count) {
  std::vector<EndedTask> all(count);
  for (std::size_t done = 0; done < count;) {
    for (EndedTask& task : workers.wait(seconds{10})) {
      ++done;
      all.at(task.task) = std::move(task);
    }
  }
  return all;
}

/// Prints the process and what it has run before.
int tell_process(std::size_t task) {
  static std::size_t before = 0;
  std::printf("%d %zu", static_cast<int>(getpid()), before++);
  std::fprintf(stderr, "said by %zu", task);
  return static_cast<int>(task % 3);
}

TEST(ForkedWorkers, TellEachTasksOwnOutputAndCode) {
  ForkedWorkers workers{20, {3}, [](std::size_t task) {
                          std::printf("out %zu", task);
                          std::fprintf(stderr, "err %zu", task);
                          return static_cast<int>(task % 3);
                        }};
  const std::vector<EndedTask> all = all_of(workers, 20);
  for (std::size_t task = 0; task < all.size(); ++task) {
    EXPECT_EQ(all[task].printed, "out " + std::to_string(task));
    EXPECT_EQ(all[task].said, "err " + std::to_string(task));
    EXPECT_EQ(all[task].exit_code, task % 3);
  }
  EXPECT_EQ(workers.interruption(), 0);
}

/// One child runs all tasks; where a child may run one, each has its own.
TEST(ForkedWorkers, ShareAProcessAsFarAsTheyMay) {
  for (const std::size_t of_each : {0, 1, 4}) {
    ForkedWorkers workers{8, {1, of_each}, tell_process};
    std::set<int> processes;
    for (const EndedTask& task : all_of(workers, 8)) {
      processes.insert(std::stoi(task.printed));
    }
    EXPECT_EQ(processes.size(), of_each == 0 ? 1 : 8 / of_each);
  }
}

/// The tasks behind it go to another child, and what the dead one did before is kept.
TEST(ForkedWorkers, AChildThatDiesTakesOnlyItsOwnTaskWithIt) {
  ForkedWorkers workers{6, {1}, [](std::size_t task) {
                          std::printf("task %zu", task);
                          if (task == 2) {
                            std::fprintf(stderr, "dies");
                            end_by(SIGTERM);
                          }
                          return 0;
                        }};
  const std::vector<EndedTask> all = all_of(workers, 6);
  for (std::size_t task = 0; task < all.size(); ++task) {
    EXPECT_EQ(all[task].exit_code, task == 2 ? 128 + SIGTERM : 0);
    EXPECT_EQ(all[task].printed, "task " + std::to_string(task));
    EXPECT_EQ(all[task].said, task == 2 ? "dies" : "");
  }
}

/// Who has no time to wait for all still has those that are done.
TEST(ForkedWorkers, TellTasksWhileTheirChildGoesOn) {
  ForkedWorkers workers{2, {1}, [](std::size_t task) {
                          std::printf("%zu", task);
                          if (task == 1) {
                            sleep(1000);  // until the parent ends it
                          }
                          return 0;
                        }};
  std::vector<EndedTask> ended;
  while (ended.empty()) {
    ended = workers.wait(milliseconds{1});
  }
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().task, 0U);
  EXPECT_EQ(ended.front().printed, "0");
}

TEST(ForkedWorkers, NoTasksEndAtOnce) {
  ForkedWorkers workers{0, {2}, [](std::size_t) { return 0; }};
  EXPECT_TRUE(workers.wait(milliseconds{0}).empty());
}

}  // namespace
}  // namespace lockstep
