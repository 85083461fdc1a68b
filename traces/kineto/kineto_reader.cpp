#include "traces/kineto/kineto_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "traces/event_place.hpp"
#include "traces/foreign_profile.hpp"
#include "traces/json_elements.hpp"
#include "traces/json_outline.hpp"
#include "traces/kineto/begin_end_pairs.hpp"
#include "traces/kineto/kineto_event.hpp"
#include "traces/kineto/kineto_members.hpp"
#include "traces/kineto/lost_times.hpp"
#include "traces/time_window.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::kineto {
namespace {

constexpr Oddity kUnknownCategory{
    "unknown category", "events of a category that this reader does not know; left out", Severity::Warning};
constexpr Oddity kNotUsed{"events without bearing on time",
                          "Python calls, memory samples, counters, GPU annotations, flow arrows: left out"};
constexpr Oddity kNoTime{"event without a time", "its ts or dur is missing or no number; left out",
                         Severity::Warning};
constexpr Oddity kNegative{"negative duration", "taken as 0", Severity::Warning};
constexpr Oddity kTooNegative{"event that ends long before it begins",
                              "by more than clocks are apart: its time was lost; left out",
                              Severity::Warning};
constexpr Oddity kUnmatched{"begin or end without the other", "an event of phase B or E; left out",
                            Severity::Warning};
constexpr Oddity kBroken{"event that cannot be parsed", "not a JSON object; left out", Severity::Warning};
constexpr Oddity kZero{"duration 0", "traces in whole microseconds round short events to 0"};

constexpr std::size_t kLongestName = 32;  // of an example, which says more
constexpr double kMicro = 1e-3;           // of a nanosecond

enum class Category : std::uint8_t { Operator, Annotation, Call, Kernel, Memcpy, Memset, Sync, Unused };

// Names of 2021, then those of 2022 and later (libkineto/src/ActivityType.cpp).
const std::map<std::string, Category, std::less<>>& categories() {
  static const std::map<std::string, Category, std::less<>> known{{"Operator", Category::Operator},
                                                                  {"cpu_op", Category::Operator},
                                                                  {"user_annotation", Category::Annotation},
                                                                  {"Runtime", Category::Call},
                                                                  {"cuda_runtime", Category::Call},
                                                                  {"cuda_driver", Category::Call},
                                                                  {"hip_runtime", Category::Call},
                                                                  {"privateuse1_runtime", Category::Call},
                                                                  {"Kernel", Category::Kernel},
                                                                  {"kernel", Category::Kernel},
                                                                  {"Memcpy", Category::Memcpy},
                                                                  {"gpu_memcpy", Category::Memcpy},
                                                                  {"Memset", Category::Memset},
                                                                  {"gpu_memset", Category::Memset},
                                                                  {"cuda_sync", Category::Sync},
                                                                  {"python_function", Category::Unused},
                                                                  {"gpu_user_annotation", Category::Unused},
                                                                  {"cpu_instant_event", Category::Unused},
                                                                  {"Trace", Category::Unused},
                                                                  {"critical_path", Category::Unused},
                                                                  {"overhead", Category::Unused},
                                                                  {"ac2g", Category::Unused},
                                                                  {"async", Category::Unused},
                                                                  {"async_cpu_to_gpu", Category::Unused},
                                                                  {"async_gpu", Category::Unused},
                                                                  {"cpu_op_flow", Category::Unused},
                                                                  {"Marker", Category::Unused},
                                                                  {"", Category::Unused}};
  return known;
}

class Reader {
 public:
  explicit Reader(std::string file_name) { trace_.file = std::move(file_name); }

  std::optional<RecordedTrace> read() && {
    JsonElements elements{"traceEvents", trace_.file,
                          [this](std::string& text, std::uint64_t line) { event(text, line); },
                          [this](std::string_view key, std::string& text, std::uint64_t /*line*/) {
                            take_trace_member(key, text, trace_, base_);
                          }};
    for_each_block(trace_.file, [&](std::string_view block) { elements.feed(block); });
    elements.finish();
    if (!elements.found_array()) {
      return std::nullopt;
    }
    finish();
    return std::move(trace_);
  }

 private:
  void event(std::string& text, std::uint64_t line) {
    ++trace_.events;
    const KinetoEvent* const event = parser_.parse(text);
    if (event == nullptr) {
      trace_.report.add(kBroken, to_text(EventPlace{line, trace_.events}));
    } else if (event->phase == 'X') {
      span(*event);
    } else if (event->phase == 'B' || event->phase == 'E') {
      if (const KinetoEvent* const whole = pairs_.take(*event); whole != nullptr) {
        span(*whole);
      }
    } else if (event->phase == 'M') {
      metadata(*event);
    } else if ((event->phase == 's' || event->phase == 'f') && event->category == "fwdbwd") {
      flow(*event);
    } else {
      memory_ = memory_ || event->name == "[memory]";
      trace_.report.add(kNotUsed, event->name);
    }
  }

  void span(const KinetoEvent& event) {
    const auto known = categories().find(event.category);
    if (known == categories().end()) {
      trace_.report.add(kUnknownCategory, event.category + ": " + event.name);
      return;
    }
    if (known->second == Category::Unused) {
      stacks_ = stacks_ || event.category == "python_function";
      trace_.report.add(kNotUsed, event.name);
      return;
    }
    const bool has_time = event.start && event.duration;
    if (!has_time || *event.duration < -kClocksApart || *event.start > kMostTime ||
        *event.duration > kMostTime) {
      trace_.report.add(has_time && *event.duration < 0 ? kTooNegative : kNoTime, event.name);
      lose(known->second, event);
      return;
    }
    if (*event.duration < 0) {
      trace_.report.add(kNegative, fmt::format("{}, thread {}, {:.3f} us", event.name.substr(0, kLongestName),
                                               event.tid, kMicro * static_cast<double>(*event.duration)));
    } else if (*event.duration == 0) {
      trace_.report.add(kZero, event.name);
    }
    add(known->second, event, *event.start + std::max<Nanoseconds>(*event.duration, 0));
  }

  /// Notes an event whose start or duration is missing, or impossible. Its time is about its start, or else
  /// the start of the event before it in the file.
  void lose(Category category, const KinetoEvent& event) {
    const auto near = [&](const auto& before) {
      const bool says = event.start && *event.start <= kMostTime;
      return says ? *event.start : before.empty() ? -1 : before.back().start;
    };
    LostEvent lost{LostEvent::Kind::Work,
                   trace_.names.number(event.name),
                   near(trace_.work),
                   event.correlation,
                   event.pid,
                   ""};
    if (category == Category::Call) {
      lost.kind = LostEvent::Kind::Call;
      lost.near = near(trace_.calls);
    } else if (category == Category::Operator || category == Category::Annotation) {
      lost.kind = LostEvent::Kind::Operator;
      lost.near = near(trace_.operators);
    } else if (category == Category::Sync) {
      return;
    }
    trace_.lost.push_back(std::move(lost));
  }

  void add(Category category, const KinetoEvent& event, Nanoseconds end) {
    switch (category) {
      case Category::Operator:
      case Category::Annotation:
        add_operator(event, end, category == Category::Annotation);
        break;
      case Category::Call:
        places_.calls.push_back(trace_.events);
        trace_.calls.push_back({*event.start, end, trace_.names.number(event.name), thread(event),
                                call_kind(event.name), event.correlation, event.external_id});
        break;
      case Category::Sync:
        trace_.syncs.push_back(
            {*event.start, end, trace_.names.number(event.sync_kind), static_cast<std::int32_t>(event.stream),
             static_cast<std::int32_t>(event.wait_on_stream), event.correlation, event.wait_on_record});
        break;
      case Category::Kernel:
        add_work(event, end, WorkKind::Kernel);
        break;
      case Category::Memcpy:
        add_work(event, end, WorkKind::Memcpy);
        break;
      case Category::Memset:
        add_work(event, end, WorkKind::Memset);
        break;
      case Category::Unused:
        break;
    }
  }

  void add_operator(const KinetoEvent& event, Nanoseconds end, bool is_annotation) {
    Operator made;
    made.start = *event.start;
    made.end = end;
    made.name = trace_.names.number(event.name);
    made.thread = thread(event);
    made.is_annotation = is_annotation || event.name.starts_with("ProfilerStep#");
    made.external_id = event.external_id;
    made.record_function_id = event.record_function_id;
    made.sequence_number = event.sequence_number;
    made.input_dims = trace_.names.number(event.input_dims);
    made.input_types = trace_.names.number(event.input_types);
    made.concrete_inputs = trace_.names.number(event.concrete_inputs);
    trace_.operators.push_back(made);
    places_.operators.push_back(trace_.events);
    shapes_ = shapes_ || !event.input_dims.empty() || !event.input_types.empty();
    stacks_ = stacks_ || event.has_stack;
  }

  void add_work(const KinetoEvent& event, Nanoseconds end, WorkKind kind) {
    Work made;
    made.start = *event.start;
    made.end = end;
    made.name = trace_.names.number(event.name);
    made.stream = static_cast<std::int32_t>(event.stream);
    made.device = static_cast<std::int32_t>(event.device >= 0 ? event.device : event.pid);
    made.pid = event.pid;
    made.kind = kind;
    made.correlation = event.correlation;
    made.external_id = event.external_id;
    made.bytes = event.bytes;
    if (event.has_communication) {
      made.communication = static_cast<std::int32_t>(trace_.communications.size());
      trace_.communications.push_back(event.communication);
    }
    trace_.work.push_back(made);
    places_.work.push_back(trace_.events);
  }

  void metadata(const KinetoEvent& event) {
    if (event.name == "process_name") {
      trace_.processes[event.pid] = event.thread_name;
    }
    if (event.name == "thread_name") {
      thread_names_[{event.pid, event.tid}] = event.thread_name;
    }
  }

  void flow(const KinetoEvent& event) {
    if (!event.start) {
      return;
    }
    ForwardBackward& link = flows_[event.id];
    if (event.phase == 's') {
      link.forward = *event.start;
      link.forward_thread = thread(event);
    } else {
      link.backward = *event.start;
      link.backward_thread = thread(event);
    }
  }

  std::uint32_t thread(const KinetoEvent& event) {
    const auto [entry, fresh] =
        threads_.try_emplace({event.pid, event.tid}, static_cast<std::uint32_t>(trace_.threads.size()));
    if (fresh) {
      trace_.threads.push_back({event.pid, event.tid, ""});
    }
    return entry->second;
  }

  void finish() {
    // Traces before PyTorch 1.12 do not name them beside their events.
    for (const auto& [is_seen, option] :
         {std::pair{shapes_, "record_shapes"}, std::pair{stacks_, "with_stack"},
          std::pair{memory_, "profile_memory"}}) {
      if (is_seen) {
        trace_.observers.emplace(option);
      }
    }
    for (Thread& thread : trace_.threads) {
      if (const auto name = thread_names_.find({thread.pid, thread.tid}); name != thread_names_.end()) {
        thread.name = name->second;
      }
    }
    for (const auto& [id, link] : flows_) {
      if (link.forward >= 0 && link.backward >= 0) {
        trace_.forward_backward.push_back(link);
      }
    }
    trace_.report.add(kUnmatched, pairs_.example(), pairs_.unmatched());
    take_out_lost(trace_, places_);
    shift_and_sort(trace_, base_);
  }

  RecordedTrace trace_;
  EventParser parser_;
  BeginEndPairs pairs_;
  FilePlaces places_;
  Nanoseconds base_ = 0;
  bool shapes_ = false, stacks_ = false, memory_ = false;  // that events show
  std::map<std::pair<std::int64_t, std::string>, std::uint32_t> threads_;
  std::map<std::pair<std::int64_t, std::string>, std::string> thread_names_;
  std::map<std::int64_t, ForwardBackward> flows_;
};

}  // namespace

std::optional<RecordedTrace> read_if_kineto(const std::string& file_name) {
  return Reader{file_name}.read();
}

RecordedTrace read_kineto(const std::string& file_name) {
  refuse_foreign(file_name);
  std::optional<RecordedTrace> trace = read_if_kineto(file_name);
  if (!trace) {
    throw InputError{{file_name},
                     fmt::format("not a trace of PyTorch's profiler: it has no \"traceEvents\", but is {}",
                                 to_text(outline_of(file_name)))};
  }
  return std::move(*trace);
}

}  // namespace lockstep::kineto
