#include "calibration/hosts/host_samples.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "calibration/hosts/full_queue.hpp"
#include "ops/module_operators.hpp"

namespace lockstep {
namespace {

using kineto::Call;
using kineto::CallKind;
using kineto::Nanoseconds;
using kineto::RecordedTrace;

constexpr std::size_t kBackwardShare = 20;  // of autograd's thread one operator in so many is a node
constexpr Nanoseconds kShortestGap = 2'000, kLongestGap = 200'000;
constexpr Nanoseconds kShortestWait = 20'000;
constexpr std::string_view kWrapper = "autograd::engine::evaluate_function: ";

Seconds seconds(Nanoseconds time) {
  return Seconds{1e-9 * static_cast<double>(time)};
}

bool is_wait(CallKind kind) {
  return kind == CallKind::EventSync || kind == CallKind::StreamSync || kind == CallKind::DeviceSync;
}

/// An operator or a call of one thread.
struct Event {
  Nanoseconds start = 0, end = 0;
  const std::string* name = nullptr;
  std::optional<CallKind> call;  ///< none: an operator
  bool waits = false;            ///< a copy that returns when it is done, or a call that found a full queue
};

/// Tells if a range is around operators: the profiler's steps, the whole optimizer, libraries' annotations.
bool is_looked_through(const std::string& name) {
  return name.starts_with("ProfilerStep") || name.starts_with("Optimizer.") || name.starts_with("##");
}

/// Copies of pageable memory: the call copies it to a pinned buffer first, piece by piece, or waits.
std::unordered_set<std::int64_t> pageable_copies(const RecordedTrace& trace) {
  std::unordered_set<std::int64_t> correlations;
  for (const kineto::Work& work : trace.work) {
    if (trace.names.text(work.name).find("Pageable") != std::string::npos) {
      correlations.insert(work.correlation);
    }
  }
  return correlations;
}

/// Events by thread, in the order of their starts; the longer first. @p queued tells for each call whether it
/// waited for room in a full launch queue.
std::vector<std::vector<Event>> events_by_thread(const RecordedTrace& trace,
                                                 const std::vector<bool>& queued) {
  std::vector<std::vector<Event>> threads(trace.threads.size());
  for (const kineto::Operator& op : trace.operators) {
    const std::string& name = trace.names.text(op.name);
    if (!op.is_annotation && !is_looked_through(name)) {
      threads[op.thread].push_back({op.start, op.end, &name, {}});
    }
  }
  const std::unordered_set<std::int64_t> pageable = pageable_copies(trace);
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    const std::string& name = trace.names.text(call.name);
    threads[call.thread].push_back(
        {call.start, call.end, &name, call.kind,
         queued[i] || name == "cudaMemcpy" || pageable.contains(call.correlation)});
  }
  for (std::vector<Event>& events : threads) {
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
      return std::pair{a.start, -a.end} < std::pair{b.start, -b.end};
    });
  }
  return threads;
}

/// An outermost operator and what is within.
struct Outermost {
  Event itself;
  std::span<const Event> inside;
};

std::vector<Outermost> outermost(const std::vector<Event>& thread) {
  std::vector<Outermost> found;
  for (std::size_t i = 0; i < thread.size();) {
    if (thread[i].call) {
      ++i;
      continue;
    }
    std::size_t next = i + 1;
    while (next < thread.size() && thread[next].start < thread[i].end) {
      ++next;
    }
    found.push_back({thread[i], std::span{thread}.subspan(i + 1, next - i - 1)});
    i = next;
  }
  return found;
}

/// A call in which the thread waits for the GPU, or for room in a launch queue.
bool waits_for_gpu(const Event& event) {
  return event.waits || is_wait(event.call.value_or(CallKind::Other));
}

/// Time from @p begin to @p until that @p thread (by start) waited for the GPU.
Nanoseconds waited(std::span<const Event> thread, Nanoseconds begin, Nanoseconds until) {
  Nanoseconds sum = 0;
  for (auto event = std::ranges::lower_bound(thread, begin, {}, &Event::start);
       event != thread.end() && event->start < until; ++event) {
    sum += waits_for_gpu(*event) ? std::min(event->end, until) - event->start : 0;
  }
  return sum;
}

/// Gaps within an operator, less the profiler's cost of the events in them, less what the allocator asked
/// the driver for, which counts as calls of its own, and less the waits for the GPU, which are not the
/// host's.
class GapMeter {
 public:
  GapMeter(std::span<const Event> inside, Seconds event_cost) : inside_{inside}, event_cost_{event_cost} {}

  [[nodiscard]] Seconds gap(Nanoseconds begin, Nanoseconds until) const {
    std::size_t seen = 0;
    Nanoseconds gap = until - begin - waited(inside_, begin, until);
    for (const Event& event : inside_) {
      if (begin <= event.start && event.start < until) {
        ++seen;
        gap -= event.call == CallKind::Memory ? event.end - event.start : 0;
      }
    }
    return std::max(Seconds{0}, seconds(gap) - event_cost_ * static_cast<double>(seen));
  }
  [[nodiscard]] bool waits(Nanoseconds begin, Nanoseconds until) const {
    return std::ranges::any_of(inside_, [&](const Event& event) {
      return waits_for_gpu(event) && begin <= event.start && event.start < until;
    });
  }

 private:
  std::span<const Event> inside_;
  Seconds event_cost_;
};

void add_operator(const Outermost& op, Seconds event_cost, OperatorSamples& samples) {
  std::vector<Event> launches;
  std::ranges::copy_if(op.inside, std::back_inserter(launches),
                       [](const Event& event) { return event.call == CallKind::Launch; });
  const GapMeter meter{op.inside, event_cost};
  if (launches.empty()) {
    samples.without_launch.push_back(
        std::max(Seconds{0}, meter.gap(op.itself.start, op.itself.end) - event_cost));
    return;
  }
  samples.before_first_launch.push_back(meter.gap(op.itself.start, launches.front().start));
  samples.after_last_launch.push_back(meter.gap(launches.back().end, op.itself.end));
  for (std::size_t i = 1; i < launches.size(); ++i) {
    const Nanoseconds begin = launches[i - 1].end;
    if (!meter.waits(begin, launches[i].start)) {
      samples.between_launches.push_back(meter.gap(begin, launches[i].start));
    }
  }
}

std::optional<RuntimeCall> kind_of(const Event& event) {
  if (event.waits) {
    return std::nullopt;
  }
  switch (event.call.value_or(CallKind::Other)) {
    case CallKind::Launch:
      return event.name->find("Memcpy") != std::string::npos   ? RuntimeCall::MemcpyAsync
             : event.name->find("Memset") != std::string::npos ? RuntimeCall::MemsetAsync
                                                               : RuntimeCall::LaunchKernel;
    case CallKind::EventRecord:
      return RuntimeCall::EventRecord;
    case CallKind::StreamWait:
      return RuntimeCall::StreamWaitEvent;
    case CallKind::Memory:
      return *event.name == "cudaMalloc" ? std::optional{RuntimeCall::Malloc}
             : *event.name == "cudaFree" ? std::optional{RuntimeCall::Free}
                                         : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::size_t backward_operators(const std::vector<Event>& thread) {
  return static_cast<std::size_t>(std::ranges::count_if(
      thread, [](const Event& op) { return op.name->find("Backward") != std::string::npos; }));
}

using Spans = std::vector<std::pair<Nanoseconds, Nanoseconds>>;  // begin, end

/// When optimizers step, in order: `Optimizer.step#...` of torch.optim.
Spans optimizer_steps(const RecordedTrace& trace) {
  Spans steps;
  for (const kineto::Operator& op : trace.operators) {
    if (trace.names.text(op.name).starts_with("Optimizer.step")) {
      steps.emplace_back(op.start, op.end);
    }
  }
  std::ranges::sort(steps);
  return steps;
}

bool is_within(const Spans& spans, Nanoseconds time) {
  const auto after = std::ranges::upper_bound(spans, time, {}, &Spans::value_type::first);
  return after != spans.begin() && time < std::prev(after)->second;
}

void add_thread(const std::vector<Event>& thread, const Spans& optimizers, Seconds event_cost,
                HostSamples& samples) {
  for (const Event& event : thread) {
    if (const auto kind = kind_of(event)) {
      samples.calls[*kind].push_back(seconds(event.end - event.start));
    }
  }
  const std::vector<Outermost> operators = outermost(thread);
  const bool is_autograds = kBackwardShare * backward_operators(thread) >= thread.size();
  for (std::size_t i = 0; i < operators.size(); ++i) {
    std::string_view name = *operators[i].itself.name;
    name.remove_prefix(name.starts_with(kWrapper) ? kWrapper.size() : 0);
    add_operator(operators[i], event_cost, samples.operators[std::string{name}]);
    const Nanoseconds start = operators[i].itself.start;
    const Nanoseconds before = i == 0 ? start : operators[i - 1].itself.end;
    const Nanoseconds gap = waited(thread, before, start) > 0 ? 0 : start - before;
    if (gap > kShortestGap && gap < kLongestGap) {
      const Seconds between = std::max(Seconds{0}, seconds(gap) - event_cost);
      if (is_autograds || is_within(optimizers, start)) {
        samples.between_operators.push_back(between);
      } else if (begins_a_module(name)) {
        samples.between_module_operators.push_back(between);
      }
    }
  }
}

void add_returns(const RecordedTrace& trace, HostSamples& samples) {
  std::vector<Nanoseconds> ends;
  for (const kineto::Work& work : trace.work) {
    ends.push_back(work.end);
  }
  std::ranges::sort(ends);
  for (const Call& call : trace.calls) {
    const auto after = std::ranges::upper_bound(ends, call.end);
    if (call.kind == CallKind::StreamSync && call.end - call.start >= kShortestWait &&
        after != ends.begin() && *std::prev(after) > call.start) {
      samples.synchronize_return.push_back(seconds(call.end - *std::prev(after)));
    }
  }
}

/// Autograd's thread is the one with the most backward operators, the caller's the busiest of the others.
void add_handovers(std::vector<std::vector<Event>> threads, HostSamples& samples) {
  for (std::vector<Event>& thread : threads) {
    std::erase_if(thread, [](const Event& event) { return event.call && !waits_for_gpu(event); });
  }
  std::ranges::stable_sort(threads, {}, [](const std::vector<Event>& thread) {
    return std::pair{backward_operators(thread), thread.size()};
  });
  if (threads.size() < 2 || backward_operators(threads.back()) == 0) {
    return;
  }
  std::vector<Event> autograd = std::move(threads.back());
  std::erase_if(autograd, [](const Event& event) { return event.call.has_value(); });
  threads.pop_back();
  const std::vector<Event>& caller = *std::ranges::max_element(threads, {}, &std::vector<Event>::size);
  std::vector<Nanoseconds> calls;
  for (const Event& op : caller) {
    if (*op.name == "aten::ones_like") {
      calls.push_back(op.end);
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto begin = std::ranges::lower_bound(autograd, calls[i], {}, &Event::start);
    const auto end = i + 1 < calls.size()
                         ? std::ranges::lower_bound(autograd, calls[i + 1], {}, &Event::start)
                         : autograd.end();
    if (begin >= end) {
      continue;
    }
    samples.backward_start.push_back(seconds(begin->start - calls[i]));
    const Nanoseconds last =
        std::max_element(begin, end, [](const Event& a, const Event& b) { return a.end < b.end; })->end;
    const auto next = std::ranges::lower_bound(caller, last, {}, &Event::start);
    if (next != caller.end()) {
      samples.backward_return.push_back(seconds(next->start - last));  // an operator, or a wait for the GPU
    }
  }
}

}  // namespace

std::size_t OperatorSamples::most() const {
  return std::max(
      {before_first_launch.size(), after_last_launch.size(), between_launches.size(), without_launch.size()});
}

void add_samples(const RecordedTrace& trace, Seconds event_cost, HostSamples& samples) {
  const std::vector<bool> queued = waited_for_the_queue(trace);
  samples.at_full_queue += static_cast<std::size_t>(std::ranges::count(queued, true));
  std::vector<std::vector<Event>> threads = events_by_thread(trace, queued);
  const Spans optimizers = optimizer_steps(trace);
  for (const std::vector<Event>& thread : threads) {
    add_thread(thread, optimizers, event_cost, samples);
  }
  add_returns(trace, samples);
  add_handovers(std::move(threads), samples);
}

}  // namespace lockstep
