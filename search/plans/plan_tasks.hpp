#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/forked_tasks.hpp"
#include "base/progress.hpp"

namespace lockstep {

/// How a task of a search ended.
struct PlanTaskEnd {
  std::string printed;
  std::string failure;  ///< empty: none
};

/// Tasks that ended with one message.
struct PlanFailure {
  std::string first;  ///< what was simulated, of the first
  std::size_t count = 0;
};

/// Adds the failure of a task, if it failed. @param of what was simulated
void count_failure(std::map<std::string, PlanFailure>& failures, const PlanTaskEnd& end,
                   const std::string& of);

/// Whether a process may run several tasks.
enum class TaskProcesses : std::uint8_t { Shared, OnePerTask };

/// Rounds of tasks in forked processes, until they are done, time is up or Ctrl-C comes. Between rounds a
/// signal waits for the next one.
class PlanTasks {
 public:
  using Clock = std::chrono::steady_clock;

  PlanTasks(std::size_t jobs, const Progress& progress) : jobs_{jobs}, progress_{progress} {}

  /// Runs @p body, which prints its result, for 0 to @p count - 1, in this order.
  /// @param what it is, for progress: `simulating plans`
  /// @return by task; std::nullopt: stopped before it ended
  std::vector<std::optional<PlanTaskEnd>> run(std::size_t count, const std::function<void(std::size_t)>& body,
                                              const std::string& what,
                                              TaskProcesses processes = TaskProcesses::Shared);

  /// Sets the time that no round goes on beyond.
  void end_at(std::optional<Clock::time_point> end) { end_ = end; }

  [[nodiscard]] std::size_t jobs() const { return jobs_; }
  [[nodiscard]] int interruption() const { return interruption_; }
  [[nodiscard]] bool is_stopped() const { return interruption_ != 0 || (end_ && Clock::now() >= *end_); }

 private:
  std::size_t jobs_;
  const Progress& progress_;
  ForkedTasks keeps_signals_;  // between rounds
  std::optional<Clock::time_point> end_;
  int interruption_ = 0;
};

}  // namespace lockstep
