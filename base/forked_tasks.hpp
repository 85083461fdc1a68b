#pragma once

/// @file
/// Work in forked child processes: SimGrid's clock does not restart in a process, and what one child does to
/// itself concerns no other.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// How a child ended.
struct EndedTask {
  std::size_t task = 0;  ///< the number given to start()
  int exit_code = 0;     ///< 128 + N where signal N ended it
  std::string printed;   ///< what it wrote to standard output
  std::string said;      ///< what it wrote to standard error
};

/// The output of a child.
struct ChildOutput {
  std::string printed;  ///< to standard output
  std::string said;     ///< to standard error
};

/// The children of this process. While it lives, SIGINT, SIGTERM and SIGHUP do not end the process but are
/// told by interruption(); children die with their parent, even by SIGKILL. For the thread that makes it,
/// which has to be the only one.
class ForkedTasks {
 public:
  ForkedTasks();
  ForkedTasks(const ForkedTasks&) = delete;
  ForkedTasks& operator=(const ForkedTasks&) = delete;

  /// Ends what still runs.
  ~ForkedTasks();

  /// Runs @p body, whose result is the exit code, in a child. It must not throw.
  /// @throws std::system_error when there can be no more processes
  void start(std::size_t task, const std::function<int()>& body);

  /// Waits until a child ends or a signal comes, at most @p limit. @return what has ended, in order of start
  std::vector<EndedTask> wait(std::chrono::milliseconds limit);

  [[nodiscard]] std::size_t running() const { return children_.size(); }

  /// Output that the running child of @p task has flushed so far. @throws std::out_of_range when it does not
  /// run
  [[nodiscard]] ChildOutput output_of(std::size_t task) const;

  /// The signal that asks to stop, this process or by Ctrl-C a child; 0 while there is none.
  [[nodiscard]] int interruption() const { return interruption_; }

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  struct Child {
    pid_t process;
    std::size_t task;
    File printed;
    File said;
  };

  void collect(std::vector<EndedTask>& ended);
  [[noreturn]] void live(const Child& files, pid_t parent, const std::function<int()>& body) const;

  std::vector<Child> children_;
  sigset_t signals_{};
  sigset_t before_{};
  int interruption_ = 0;
};

/// Ends this process by @p signal, as if nobody had caught it.
void end_by(int signal);

}  // namespace lockstep
