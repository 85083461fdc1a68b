#include "search/plans/plan_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/forked_workers.hpp"
#include "scenario/outcome.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

using namespace std::chrono_literals;

/// In a child.
int live(const std::function<void(std::size_t)>& body, std::size_t task) {
  set_usual_log_level(spdlog::level::err);
  const Outcome outcome = outcome_of([&] {
    body(task);
    return kExitOk;
  });
  fmt::print(stderr, "{}", outcome.message);
  return outcome.exit_code;
}

PlanTaskEnd end_of(EndedTask& ended) {
  if (ended.exit_code == kExitOk) {
    return {std::move(ended.printed), {}};
  }
  return {{},
          ended.said.empty() ? fmt::format("the process ended with exit code {}", ended.exit_code)
                             : std::move(ended.said)};
}

}  // namespace

void count_failure(std::map<std::string, PlanFailure>& failures, const PlanTaskEnd& end,
                   const std::string& of) {
  if (!end.failure.empty()) {
    const auto [entry, fresh] = failures.try_emplace(end.failure, PlanFailure{of, 0});
    ++entry->second.count;
  }
}

std::vector<std::optional<PlanTaskEnd>> PlanTasks::run(std::size_t count,
                                                       const std::function<void(std::size_t)>& body,
                                                       const std::string& what, TaskProcesses processes) {
  std::vector<std::optional<PlanTaskEnd>> ends(count);
  const std::size_t of_each = processes == TaskProcesses::Shared ? 0 : 1;
  ForkedWorkers workers{count, {jobs_, of_each}, [&](std::size_t task) { return live(body, task); }};
  std::size_t done = 0;
  while (done < count && !is_stopped()) {
    progress_.say(fmt::format("{}: {} of {}", what, done, count));
    for (EndedTask& ended : workers.wait(100ms)) {
      ends[ended.task] = end_of(ended);
      ++done;
    }
    interruption_ = std::max(interruption_, workers.interruption());
  }
  progress_.done();
  log_of(LogComponent::Search).debug("{}: {} of {} done by {} processes", what, done, count, jobs_);
  return ends;
}

}  // namespace lockstep
