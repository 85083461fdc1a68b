#include "app/process_limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>

#include "app/interruption.hpp"
#include "scenario/outcome.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kReserve = 4U << 20U;  // bytes, for cleaning up

std::unique_ptr<char[]>& reserve() {
  static std::unique_ptr<char[]> memory;
  return memory;
}

/// Ends the process. Where several threads lack memory, the first does so and the others wait.
[[noreturn]] void end_without_memory() {
  static std::atomic<bool> has_begun = false;
  thread_local bool is_mine = false;
  if (is_mine) {
    throw std::bad_alloc{};  // while cleaning up
  }
  while (has_begun.exchange(true)) {
    pause();
  }
  is_mine = true;
  reserve().reset();
  clean_up_now();
  (void)!write(STDERR_FILENO, kNoMemory, std::strlen(kNoMemory));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kExitNoMemory);
}

}  // namespace

void prepare_process() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) {
      (void)!open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);  // gets the lowest free number
    }
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(&end_without_memory);
  reserve() =
      std::make_unique_for_overwrite<char[]>(kReserve);  // zeroes would take a page fault for each 4 KiB
}

}  // namespace lockstep
