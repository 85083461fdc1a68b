#pragma once

/// @file
/// What Ctrl-C leaves behind: nothing half-written.

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

namespace lockstep {

/// While it lives, SIGINT, SIGTERM and SIGHUP first run @p clean_up, then end the process as they always do.
/// The signals go to a thread of their own, so that @p clean_up may do what a signal handler must not. Make
/// it before other threads are started: they inherit that the signals are not for them.
class Interruption {
 public:
  explicit Interruption(std::function<void()> clean_up);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

 private:
  void wait();

  std::function<void()> clean_up_;
  sigset_t signals_{};
  sigset_t before_{};
  std::vector<int> ignored_;
  std::atomic<bool> over_ = false;
  std::thread waiting_;
};

/// Does at once what the living Interruption would do, for a process that ends by itself. Does nothing in a
/// child of the process that made it. Never throws.
void clean_up_now() noexcept;

}  // namespace lockstep
