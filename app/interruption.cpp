#include "app/interruption.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/file.hpp"

namespace lockstep {
namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal) {  // as by nohup, or in the background of a script
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interruption::Interruption(std::function<void()> clean_up) : clean_up_{std::move(clean_up)} {
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
  over_ = true;
  pthread_kill(waiting_.native_handle(), SIGUSR1);
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
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

void remove_unfinished(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  writing_of_files().lock();  // for good
  const std::string ours = fmt::format(".{}.part", getpid());
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".partial") || name.ends_with(ours)) {
      unfinished.push_back(entry.path());
    }
  }
  for (const fs::path& file : unfinished) {
    fs::remove(file, ignored);
  }
  fs::remove(folder, ignored);  // succeeds only when it is empty
}

}  // namespace lockstep
