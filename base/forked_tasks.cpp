#include "base/forked_tasks.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace lockstep {
namespace {

constexpr std::array<int, 3> kStopping{SIGINT, SIGTERM, SIGHUP};
constexpr int kSignalled = 128;  // as shells count

bool is_ignored(int signal) {  // as by nohup
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::system_error failed(const char* what) {
  return {errno, std::generic_category(), what};
}

std::unique_ptr<std::FILE, int (*)(std::FILE*)> nameless_file() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
  if (!file) {
    throw failed("a temporary file cannot be made");
  }
  return file;
}

/// Leaves the place in the file, which a child that still runs writes at.
std::string content(std::FILE* file) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t count = 0;
       (count = pread(fileno(file), part.data(), part.size(), static_cast<off_t>(text.size()))) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

}  // namespace

ForkedTasks::ForkedTasks() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGCHLD);
  for (const int signal : kStopping) {
    if (!is_ignored(signal)) {
      sigaddset(&signals_, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

ForkedTasks::~ForkedTasks() {
  for (const Child& child : children_) {
    kill(child.process, SIGKILL);
    waitpid(child.process, nullptr, 0);
  }
  const timespec at_once{};
  while (sigtimedwait(&signals_, nullptr, &at_once) > 0) {
  }  // what came too late would end the process now
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ForkedTasks::live(const Child& files, pid_t parent, const std::function<int()>& body) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {  // it died before
    _exit(kSignalled + SIGKILL);
  }
  dup2(fileno(files.printed.get()), STDOUT_FILENO);
  dup2(fileno(files.said.get()), STDERR_FILENO);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  const int code = body();
  std::fflush(nullptr);
  _exit(code);  // not exit(): what the parent registered to be done at its end is not ours to do
}

void ForkedTasks::start(std::size_t task, const std::function<int()>& body) {
  Child child{0, task, nameless_file(), nameless_file()};
  std::fflush(nullptr);  // else both would write what is in the buffers
  const pid_t parent = getpid();
  child.process = fork();
  if (child.process < 0) {
    throw failed("no child process can be made");
  }
  if (child.process == 0) {
    live(child, parent, body);
  }
  children_.push_back(std::move(child));
}

std::vector<EndedTask> ForkedTasks::wait(std::chrono::milliseconds limit) {
  std::vector<EndedTask> ended;
  collect(ended);
  const auto rest = ended.empty() ? limit : std::chrono::milliseconds{0};
  timespec time{rest.count() / 1000, rest.count() % 1000 * 1'000'000};
  // Ctrl-C goes to the children too: who sees them end has to see the signal as well.
  for (int signal = 0; (signal = sigtimedwait(&signals_, nullptr, &time)) > 0; time = {}) {
    interruption_ = signal == SIGCHLD ? interruption_ : signal;
  }
  collect(ended);
  return ended;
}

ChildOutput ForkedTasks::output_of(std::size_t task) const {
  const auto child = std::ranges::find(children_, task, &Child::task);
  if (child == children_.end()) {
    throw std::out_of_range{"no child runs this task"};
  }
  return {content(child->printed.get()), content(child->said.get())};
}

void ForkedTasks::collect(std::vector<EndedTask>& ended) {
  std::erase_if(children_, [&](Child& child) {
    int status = 0;
    if (waitpid(child.process, &status, WNOHANG) != child.process) {
      return false;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
      interruption_ = SIGINT;  // Ctrl-C, which the parent is about to see as well
    }
    ended.push_back(
        {child.task, exit_code_of(status), content(child.printed.get()), content(child.said.get())});
    return true;
  });
}

void end_by(int signal) {
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(signal);
}

}  // namespace lockstep
