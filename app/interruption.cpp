#include "app/interruption.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace lockstep {
namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

/// The clean-up of the Interruption that lives, and its process.
struct CleanUp {
  const std::function<void()>* act = nullptr;
  pid_t process = 0;
};

CleanUp& clean_up_of_process() {
  static CleanUp clean_up;
  return clean_up;
}

bool is_ignored(int signal) {  // as by nohup, or in the background of a script
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interruption::Interruption(std::function<void()> clean_up) : clean_up_{std::move(clean_up)} {
  clean_up_of_process() = {&clean_up_, getpid()};
  sigemptyset(&signals_);
  for (const int signal : kSignals) {
    sigaddset(&signals_, signal);
    if (is_ignored(signal)) {
      ignored_.push_back(signal);
    }
  }
  sigaddset(&signals_, SIGUSR1);  // wakes the thread when all is over
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiting_ = std::thread{[this] { wait(); }};
}

Interruption::~Interruption() {
  clean_up_of_process() = {};
  over_ = true;
  pthread_kill(waiting_.native_handle(), SIGUSR1);
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void clean_up_now() noexcept {
  const CleanUp clean_up = std::exchange(clean_up_of_process(), {});
  try {
    if (clean_up.act != nullptr && clean_up.process == getpid()) {
      (*clean_up.act)();
    }
  } catch (const std::exception&) {  // the process ends all the same; the next run removes what is left
  }
}

void Interruption::wait() {
  int signal = 0;
  do {
    sigwait(&signals_, &signal);
    if (over_) {
      return;
    }
  } while (signal == SIGUSR1 || std::ranges::count(ignored_, signal) > 0);
  clean_up_();
  std::signal(signal, SIG_DFL);  // whatever the libraries have installed
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

}  // namespace lockstep
