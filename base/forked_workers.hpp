#pragma once

/// @file
/// Many small tasks in a few forked processes.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/forked_tasks.hpp"

namespace lockstep {

/// Tasks 0 to count - 1 in child processes, each of which takes one after another. What a child has read and
/// the memory it has touched serve its next task. A child that dies takes only its own task with it. Signals
/// are told as by ForkedTasks.
class ForkedWorkers {
 public:
  struct Limits {
    std::size_t children = 1;  ///< that live at a time, at least 1
    std::size_t tasks = 0;     ///< of one child; 0: as many as there are
  };

  /// @param body runs a task in a child and prints its result; its value is the exit code. It must not throw.
  ForkedWorkers(std::size_t count, Limits limits, std::function<int(std::size_t task)> body);
  ForkedWorkers(const ForkedWorkers&) = delete;
  ForkedWorkers& operator=(const ForkedWorkers&) = delete;
  ~ForkedWorkers();  ///< Ends what still runs.

  /// Starts children where there is work, then waits until a child ends or a signal comes, at most @p limit.
  /// @return the tasks that have ended and were not returned before, in order
  std::vector<EndedTask> wait(std::chrono::milliseconds limit);

  [[nodiscard]] int interruption() const { return children_.interruption(); }

 private:
  struct Slot;
  struct Table;

  void live(std::size_t worker);
  /// Tasks that a child has done and that were not told.
  [[nodiscard]] std::vector<std::size_t> done_by(std::size_t worker) const;
  void tell(const std::vector<std::size_t>& done, const ChildOutput& output, std::vector<EndedTask>& ended);
  /// Tells of the task that a child died in.
  void tell_death(const EndedTask& worker, std::vector<EndedTask>& ended);

  std::size_t count_;
  Limits limits_;
  std::function<int(std::size_t)> body_;
  std::unique_ptr<Table> table_;
  std::vector<std::size_t> running_;  // numbers of children
  std::size_t started_ = 0;           // children
  std::size_t told_ = 0;              // tasks
  ForkedTasks children_;
};

}  // namespace lockstep
