#include "traces/pipeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "traces/json_elements.hpp"
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
    if (spans_.empty()) {
      throw InputError{{timeline_.file}, "not a timeline of a pipeline: it has no operation ('ph': 'X')"};
    }
    place();
    return std::move(timeline_);
  }

 private:
  /// An operation whose thread's name may come later.
  struct Span {
    Operation operation;
    std::pair<std::int64_t, std::int64_t> thread;  // pid and tid
    std::uint64_t line = 0;
  };

  [[nodiscard]] SourceLocation at(std::uint64_t line) const {
    return {timeline_.file, static_cast<int>(std::min<std::uint64_t>(line, std::numeric_limits<int>::max()))};
  }

  void event(const std::string& text, std::uint64_t line) {
    const json event = json::parse(text, nullptr, false);
    if (!event.is_object()) {
      throw InputError{at(line), "an event is no JSON object"};
    }
    try {
      const std::string phase = text_of(event, "ph");
      if (phase == "X") {
        spans_.push_back({span(event), {whole(event, "pid"), whole(event, "tid")}, line});
      } else if (phase == "M" && text_of(event, "name") == "thread_name") {
        const std::int64_t pid = whole(event, "pid");
        threads_[{pid, whole(event, "tid")}] = thread_of(text_of(event.value("args", json{}), "name"), pid);
      }
    } catch (const std::invalid_argument& problem) {
      throw InputError{at(line), problem.what()};
    }
  }

  static Operation span(const json& event) {
    Operation operation;
    operation.type = &type_named(text_of(event, "name"));
    operation.start = 1e-6 * microseconds(event, "ts");
    const double duration = 1e-6 * microseconds(event, "dur");
    if (duration < 0) {
      throw std::invalid_argument{"'dur' is negative"};
    }
    operation.end = operation.start + duration;
    operation.step = whole(event.value("args", json{}), "step");
    return operation;
  }

  const Thread& thread(const Span& span) const {
    const auto named = threads_.find(span.thread);
    if (named == threads_.end()) {
      throw InputError{at(span.line),
                       fmt::format("thread {} of process {} has no name (an event thread_name): whose "
                                   "operation this is is not known",
                                   span.thread.second, span.thread.first)};
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
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;
};

}  // namespace

Timeline read_timeline(const std::string& file_name) {
  return Reader{file_name}.read();
}

}  // namespace lockstep::pipeline
