#include "traces/pipeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "traces/event_place.hpp"
#include "traces/json_elements.hpp"
#include "traces/time_window.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::pipeline {
namespace {

using nlohmann::json;

// The names that Megatron's schedules and distributed optimiser are traced under. `optimizer-clip-main-grad`
// sums the gradients' norm over all workers (Megatron-LM, optimizer/clip_grads.py).
constexpr std::array kTypes{
    OperationType{"forward-compute", "forward-compute", Partners::None},
    OperationType{"backward-compute", "backward-compute", Partners::None},
    OperationType{"optimizer", "optimizer", Partners::None},
    OperationType{"gc", "gc", Partners::None},
    OperationType{"forward-send", "forward-pp-comm", Partners::SendToNext},
    OperationType{"forward-recv", "forward-pp-comm", Partners::ReceiveFromPrev},
    OperationType{"backward-send", "backward-pp-comm", Partners::SendToPrev},
    OperationType{"backward-recv", "backward-pp-comm", Partners::ReceiveFromNext},
    OperationType{"params-all-gather", "params-all-gather", Partners::DataGroup},
    OperationType{"grads-reduce-scatter", "grads-reduce-scatter", Partners::DataGroup},
    OperationType{"layernorm-grads-all-reduce", "layernorm-grads-all-reduce", Partners::TensorGroup},
    OperationType{"embedding-grads-all-reduce", "embedding-grads-all-reduce", Partners::FirstAndLast},
    OperationType{"optimizer-clip-main-grad", "optimizer-clip-main-grad", Partners::All},
};

const OperationType& type_named(const std::string& name) {
  const auto* const known = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const OperationType& type) { return name == type.name; });
  if (known == kTypes.end()) {
    std::vector<std::string> names;
    for (const OperationType& type : kTypes) {
      names.emplace_back(type.name);
    }
    throw std::invalid_argument{
        fmt::format("'{}' is no operation whose partners are known{}", name, did_you_mean(name, names))};
  }
  return *known;
}

constexpr Oddity kNegative{"negative duration", "clocks are a little apart: taken as 0", Severity::Warning};
constexpr Oddity kLost{
    "operation whose time was lost",
    "0, where all others are much later, or years off; its step is left out, which no mean has",
    Severity::Warning};
constexpr double kNano = 1e9;  // of a second

/// A worker's lane, as its thread is named.
struct Thread {
  Worker worker;
  std::string lane;
};

std::int64_t whole(const json& object, const char* key) {
  const auto member = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || member == object.end() || !member->is_number_integer()) {
    throw std::invalid_argument{fmt::format("'{}' is missing, or no whole number", key)};
  }
  return member->get<std::int64_t>();
}

double microseconds(const json& object, const char* key) {
  constexpr double kMost = 9e15;  // 285 years: beyond, a double loses microseconds
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number() || !(std::abs(member->get<double>()) <= kMost)) {
    throw std::invalid_argument{fmt::format("'{}' is missing, or no number of microseconds", key)};
  }
  return member->get<double>();
}

std::string text_of(const json& object, const char* key) {
  const auto member = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || member == object.end() || !member->is_string()) {
    throw std::invalid_argument{fmt::format("'{}' is missing, or no text", key)};
  }
  return member->get<std::string>();
}

Thread thread_of(const std::string& name, std::int64_t data) {
  constexpr int kMostRanks = 1 << 20;
  Thread thread;
  int read = 0;
  const int numbers = std::sscanf(name.c_str(), "PP rank %9d, TP rank %9d, %n", &thread.worker.stage,
                                  &thread.worker.tensor, &read);
  const Worker& worker = thread.worker;
  if (numbers != 2 || read == 0 || worker.stage < 0 || worker.tensor < 0 || worker.stage >= kMostRanks ||
      data < 0 || data >= kMostRanks) {
    throw std::invalid_argument{fmt::format(
        "thread '{}' of process {} is not named like 'PP rank 0, TP rank 0, compute'", name, data)};
  }
  thread.worker.data = static_cast<int>(data);
  thread.lane = name.substr(static_cast<std::size_t>(read));
  return thread;
}

class Reader {
 public:
  explicit Reader(const std::string& file_name) { timeline_.file = file_name; }

  Timeline read() && {
    JsonElements elements{"traceEvents", timeline_.file,
                          [this](std::string& text, std::uint64_t line) { event(text, line); },
                          [](std::string_view /*key*/, std::string& /*text*/, std::uint64_t /*line*/) {}};
    for_each_block(timeline_.file, [&](std::string_view block) { elements.feed(block); });
    elements.finish();
    for (const auto& [thread, open] : open_) {
      if (!open.empty()) {
        throw InputError{
            {timeline_.file},
            fmt::format("'{}' begins ('ph': 'B') and does not end", text_of(open.back(), "name"))};
      }
    }
    if (spans_.empty()) {
      throw InputError{{timeline_.file}, "not a timeline of a pipeline: it has no operation ('ph': 'X')"};
    }
    take_negative_as_none();
    leave_out_lost();
    place();
    return std::move(timeline_);
  }

 private:
  /// An operation whose thread's name may come later.
  struct Span {
    Operation operation;
    std::pair<std::int64_t, std::int64_t> thread;  // pid and tid
    std::uint64_t line = 0, number = 0;            // in the file
  };

  void event(const std::string& text, std::uint64_t line) {
    ++events_;
    json event = json::parse(text, nullptr, false);
    if (!event.is_object()) {
      throw event_error(timeline_.file, {line, events_}, "an event is no JSON object");
    }
    try {
      const std::string phase = text_of(event, "ph");
      if (phase == "X") {
        add(event, line);
      } else if (phase == "B") {
        open_[{whole(event, "pid"), whole(event, "tid")}].push_back(std::move(event));
      } else if (phase == "E") {
        close(event, line);
      } else if (phase == "M" && text_of(event, "name") == "thread_name") {
        const std::int64_t pid = whole(event, "pid");
        threads_[{pid, whole(event, "tid")}] = thread_of(text_of(event.value("args", json{}), "name"), pid);
      }
    } catch (const std::invalid_argument& problem) {
      const auto name = event.find("name");
      throw event_error(timeline_.file,
                        {line, events_,
                         name != event.end() && name->is_string() ? name->get_ref<const std::string&>() : ""},
                        problem.what());
    }
  }

  void add(const json& event, std::uint64_t line) {
    spans_.push_back({span(event), {whole(event, "pid"), whole(event, "tid")}, line, events_});
  }

  /// Makes one event of a pair of begin and end.
  void close(const json& end, std::uint64_t line) {
    std::vector<json>& open = open_[{whole(end, "pid"), whole(end, "tid")}];
    if (open.empty()) {
      throw std::invalid_argument{"an end ('ph': 'E') without a begin on its thread"};
    }
    json event = std::move(open.back());
    open.pop_back();
    event["dur"] = microseconds(end, "ts") - microseconds(event, "ts");
    if (end.contains("args") && end["args"].is_object() && event.value("args", json::object()).is_object()) {
      event["args"].update(end["args"]);
    }
    add(event, line);
  }

  /// `optimizer of step 2, PP rank 1, TP rank 0, process 0`.
  [[nodiscard]] std::string in_words(const Span& span) const {
    const Worker& worker = thread(span).worker;
    return fmt::format("{} of step {}, PP rank {}, TP rank {}, process {}", span.operation.type->name,
                       span.operation.step, worker.stage, worker.tensor, worker.data);
  }

  /// @throws InputError where clocks that are a little apart are no reason
  void take_negative_as_none() {
    for (Span& span : spans_) {
      const double seconds = span.operation.duration();
      if (seconds >= 0) {
        continue;
      }
      const std::string what = fmt::format("{:.2f} us, {}", 1e6 * seconds, in_words(span));
      if (kNano * seconds < -static_cast<double>(kClocksApart)) {
        throw event_error(timeline_.file, {span.line, span.number, span.operation.type->name},
                          fmt::format("'dur' is negative, and by more than clocks are apart ({})", what));
      }
      span.operation.end = span.operation.start;
      timeline_.report.add(kNegative, what);
    }
  }

  void leave_out_lost() {
    static constexpr double kMost = 9e9;  // s, whose nanoseconds fit
    const auto nanoseconds = [](double seconds) {
      return static_cast<std::int64_t>(kNano * std::clamp(seconds, -kMost, kMost));
    };
    std::vector<std::int64_t> starts;
    for (const Span& span : spans_) {
      starts.push_back(nanoseconds(span.operation.start));
    }
    const TimeWindow window{std::move(starts)};
    std::set<std::int64_t> incomplete;
    for (const Span& span : spans_) {
      const Operation& operation = span.operation;
      if (window.place_of(nanoseconds(operation.start), nanoseconds(operation.end)) !=
          TimeWindow::Place::Within) {
        timeline_.report.add(kLost, in_words(span));
        incomplete.insert(operation.step);
      }
    }
    timeline_.incomplete.assign(incomplete.begin(), incomplete.end());
    std::erase_if(spans_, [&](const Span& span) { return incomplete.contains(span.operation.step); });
    if (spans_.empty()) {
      throw InputError{
          {timeline_.file},
          fmt::format("times were lost in each of its {} steps: none can be used", incomplete.size())};
    }
  }

  static Operation span(const json& event) {
    Operation operation;
    operation.type = &type_named(text_of(event, "name"));
    operation.start = 1e-6 * microseconds(event, "ts");
    operation.end = operation.start + 1e-6 * microseconds(event, "dur");
    operation.step = whole(event.value("args", json{}), "step");
    return operation;
  }

  const Thread& thread(const Span& span) const {
    const auto named = threads_.find(span.thread);
    if (named == threads_.end()) {
      throw event_error(timeline_.file, {span.line, span.number, span.operation.type->name},
                        fmt::format("thread {} of process {} has no name (an event thread_name): whose "
                                    "operation this is is not known",
                                    span.thread.second, span.thread.first));
    }
    return named->second;
  }

  /// Workers, lanes and steps of the operations, and their order.
  void place() {
    std::set<Worker> workers;
    std::set<std::string> lanes;
    std::set<std::int64_t> steps;
    for (const Span& span : spans_) {
      workers.insert(thread(span).worker);
      lanes.insert(thread(span).lane);
      steps.insert(span.operation.step);
    }
    timeline_.workers.assign(workers.begin(), workers.end());
    timeline_.lanes.assign(lanes.begin(), lanes.end());
    timeline_.steps.assign(steps.begin(), steps.end());
    timeline_.stages = timeline_.workers.back().stage + 1;
    const auto place_in = [](const auto& list, const auto& value) {
      return static_cast<std::uint32_t>(std::lower_bound(list.begin(), list.end(), value) - list.begin());
    };
    for (const Span& span : spans_) {
      Operation& operation = timeline_.operations.emplace_back(span.operation);
      operation.worker = place_in(timeline_.workers, thread(span).worker);
      operation.lane = place_in(timeline_.lanes, thread(span).lane);
    }
    std::stable_sort(
        timeline_.operations.begin(), timeline_.operations.end(), [](const Operation& a, const Operation& b) {
          return std::tie(a.step, a.worker, a.start, a.end) < std::tie(b.step, b.worker, b.start, b.end);
        });
  }

  Timeline timeline_;
  std::vector<Span> spans_;
  std::uint64_t events_ = 0;                                                 // so far
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<json>> open_;  // begins, by pid and tid
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;
};

}  // namespace

Timeline read_timeline(const std::string& file_name) {
  return Reader{file_name}.read();
}

}  // namespace lockstep::pipeline
