#include "app/interruption.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/scratch_folder.hpp"
#include "traces/gzip_file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Blocks of a timeline and whole files are written on, by other threads, when what is unfinished is removed.
/// The folder holds a file of the user's, so that it stays.
[[noreturn]] void write_on_behind_removal(const test::ScratchFolder& folder) {
  BlockCompressor compressor{1, 0};
  GzipFile timeline{folder / "timeline.json.gz", compressor, 64};
  std::atomic<int> written = 0;
  const std::thread blocks{[&] {
    for (;;) {
      timeline.append("what a block of a timeline says, again and again\n");
      ++written;
    }
  }};
  const std::thread files{[&] {
    for (int number = 0;; number = (number + 1) % 4) {
      write_whole_file(folder / ("plan_" + std::to_string(number)), "a plan");
      ++written;
    }
  }};
  while (written < 100) {
    std::this_thread::yield();
  }
  remove_unfinished_files();
  const int then = written;
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  bool is_left = written > then + 4;  // what was between two files, or writes to none
  for (const auto& entry : fs::directory_iterator{folder.path()}) {
    is_left = is_left || entry.path().extension() == ".part";
  }
  std::_Exit(is_left ? 1 : 0);  // as a signal ends it, without destructors
}

TEST(Interruption, NothingIsWrittenBehindTheRemoval) {
  for (int time = 0; time < 5; ++time) {
    const test::ScratchFolder folder;
    folder.write("mine.yaml", "a file of the user's");
    const testing::ChildOutcome outcome =
        testing::watch_child([&]() -> std::string { write_on_behind_removal(folder); });
    EXPECT_EQ(outcome.exit_code, 0) << outcome.printed << outcome.error;
    EXPECT_TRUE(fs::exists(folder / "mine.yaml"));
  }
}

}  // namespace
}  // namespace lockstep
