#include "traces/kineto/recorded_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "traces/step_ends.hpp"

namespace lockstep::kineto {
namespace {

std::optional<std::int64_t> number_in(std::string_view name) {
  std::int64_t number = 0;
  name.remove_prefix(std::min(kStepPrefix.size(), name.size()));
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} ? std::optional{number} : std::nullopt;
}

std::vector<RecordedStep> ranges_of(const RecordedTrace& trace) {
  std::vector<RecordedStep> steps;
  for (std::uint32_t i = 0; i < trace.operators.size(); ++i) {
    const Operator& op = trace.operators[i];
    if (const std::string& name = trace.names.text(op.name); name.starts_with(kStepPrefix)) {
      steps.push_back({.name = name, .start = op.start, .end = op.end, .range = i, .example = ""});
    }
  }
  std::ranges::stable_sort(steps, {}, &RecordedStep::start);
  return steps;
}

/// A step whose range was lost stands where its number puts it.
void insert_lost_range(const std::string& name, std::vector<RecordedStep>& steps) {
  const auto number = number_in(name);
  const auto next = std::ranges::find_if(
      steps, [&](const RecordedStep& step) { return number && number_in(step.name).value_or(-1) > *number; });
  RecordedStep made{.name = name, .example = "", .is_timed = false};
  const Nanoseconds before =
      next == steps.begin() ? std::numeric_limits<Nanoseconds>::min() : std::prev(next)->end;
  made.end = next == steps.end() ? before : next->start;
  made.start = next == steps.begin() ? made.end - 1 : std::min(before, made.end);
  steps.insert(next, made);
}

class Losses {
 public:
  Losses(const RecordedTrace& trace, std::vector<RecordedStep>& steps) : trace_{trace}, steps_{steps} {
    for (const RecordedStep& step : steps) {
      starts_.push_back(step.start);
    }
    for (const Work& work : trace.work) {
      recorded_.insert(work.correlation);
    }
    shown_.assign(steps.size() + 1, std::numeric_limits<Nanoseconds>::min());
    for (const Call& call : trace.calls) {
      call_of_.emplace(call.correlation, &call);
      const bool launches = call.kind == CallKind::Launch || call.kind == CallKind::GraphLaunch;
      if (call.kind == CallKind::DeviceSync || (launches && recorded_.contains(call.correlation))) {
        Nanoseconds& shown = shown_[step_of_launch<Nanoseconds>(starts_, call.start)];
        shown = std::max(shown, call.start);
      }
    }
  }

  void add(const LostEvent& lost) {
    const auto call = lost.correlation < 0 ? call_of_.end() : call_of_.find(lost.correlation);
    const Nanoseconds near = call == call_of_.end() ? lost.near : call->second->start;
    const std::size_t number = step_of_launch<Nanoseconds>(starts_, near);
    if (number == 0) {
      return;
    }
    RecordedStep& step = steps_[number - 1];
    step.example = step.example.empty() ? trace_.names.text(lost.name) : step.example;
    const bool launches = lost.kind == LostEvent::Kind::Call && launches_work(trace_.names.text(lost.name));
    ++(lost.kind == LostEvent::Kind::Work ? step.lost_work : step.lost_events);
    if (lost.kind == LostEvent::Kind::Work || (launches && !recorded_.contains(lost.correlation))) {
      step.is_timed = step.is_timed && shown_[number] > near;
    }
  }

 private:
  static bool launches_work(std::string_view name) {
    const CallKind kind = call_kind(name);
    return kind == CallKind::Launch || kind == CallKind::GraphLaunch;
  }

  const RecordedTrace& trace_;
  std::vector<RecordedStep>& steps_;
  std::vector<Nanoseconds> starts_;
  std::unordered_map<std::int64_t, const Call*> call_of_;
  std::unordered_set<std::int64_t> recorded_;  // correlations of work
  std::vector<Nanoseconds>
      shown_;  // by step: the latest call that shows when work launched before it was over
};

}  // namespace

std::vector<RecordedStep> recorded_steps(const RecordedTrace& trace) {
  std::vector<RecordedStep> steps = ranges_of(trace);
  if (steps.empty() || trace.lost.empty()) {
    return steps;
  }
  for (const LostEvent& lost : trace.lost) {
    const std::string& name = trace.names.text(lost.name);
    if (lost.kind == LostEvent::Kind::Operator && name.starts_with(kStepPrefix)) {
      insert_lost_range(name, steps);
    }
  }
  Losses losses{trace, steps};
  for (const LostEvent& lost : trace.lost) {
    if (!trace.names.text(lost.name).starts_with(kStepPrefix)) {
      losses.add(lost);
    }
  }
  return steps;
}

std::string missing_in_words(const RecordedStep& step) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (step.range == kNoRange) {
    add("its range");
  }
  if (step.lost_events > 0) {
    add(fmt::format("{} event{} of the host", step.lost_events, step.lost_events == 1 ? "" : "s"));
  }
  if (step.lost_work > 0) {
    add(fmt::format("{} record{} of GPU work", step.lost_work, step.lost_work == 1 ? "" : "s"));
  }
  return text + (step.example.empty() ? "" : fmt::format(" (e.g. {})", step.example));
}

}  // namespace lockstep::kineto
