#include "traces/comparison/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "traces/comparison/launching_operators.hpp"
#include "traces/foreign_profile.hpp"
#include "traces/json_elements.hpp"
#include "traces/kineto/begin_end_pairs.hpp"
#include "traces/kineto/kineto_event.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/recorded_steps.hpp"
#include "traces/kineto/split_ranks.hpp"
#include "traces/replay/trace_links.hpp"
#include "traces/step_ends.hpp"
#include "traces/time_window.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::comparison {
namespace {

constexpr const char* kNoOperator = "(no operator)";

/// The number in `rank 3 GPU (...)`.
std::optional<std::int64_t> rank_in(std::string_view process_name) {
  constexpr std::string_view kBefore = "rank ";
  std::int64_t rank = 0;
  if (!process_name.starts_with(kBefore)) {
    return std::nullopt;
  }
  const char* const first = process_name.data() + kBefore.size();
  const auto [end, error] = std::from_chars(first, process_name.data() + process_name.size(), rank);
  const bool is_word = end != process_name.data() + process_name.size() && *end == ' ';
  return error == std::errc{} && is_word ? std::optional{rank} : std::nullopt;
}

/// Kernels that communicate are told once their families are known.
std::optional<WorkKind> kind_of(std::string_view category) {
  if (category == "gpu_memcpy" || category == "Memcpy") return WorkKind::Copy;
  const bool computes =
      category == "gpu_memset" || category == "Memset" || category == "kernel" || category == "Kernel";
  return computes ? std::optional{WorkKind::Compute} : std::nullopt;
}

bool is_operator(std::string_view category) {
  return category == "cpu_op" || category == "Operator" || category == "user_annotation";
}
bool is_call(std::string_view category) {
  return category == "cuda_runtime" || category == "cuda_driver" || category == "hip_runtime" ||
         category == "Runtime";
}

class Reader {
 public:
  Reader(const std::string& file_name, std::int64_t rank, const KernelFamilies& families)
      : rank_{rank}, families_{families} {
    run_.file = file_name;
  }

  RecordedRun read() && {
    JsonElements elements{"traceEvents", run_.file,
                          [this](std::string& text, std::uint64_t /*line*/) { event(text); },
                          [](std::string_view /*key*/, std::string& /*text*/, std::uint64_t /*line*/) {}};
    for_each_block(run_.file, [&](std::string_view block) { elements.feed(block); });
    elements.finish();
    if (!elements.found_array()) {
      throw InputError{{run_.file}, "no timeline: it has no \"traceEvents\""};
    }
    keep_rank();
    keep_window();
    if (drafts_.empty()) {
      refuse_foreign(run_.file);
      if (!foreign_.empty()) {
        throw InputError{{run_.file}, foreign_};
      }
      throw InputError{{run_.file}, "the timeline has no work on a GPU"};
    }
    place();
    find_marks();
    marks_.empty() ? span_work() : span_steps();
    return std::move(run_);
  }

 private:
  struct Draft {
    Work work;
    std::int64_t pid = 0, correlation = -1;
    Nanoseconds launched = 0;  // where no call is known: its start
  };
  struct Step {
    Nanoseconds start = 0, end = 0;
    std::int64_t pid = 0;
    bool is_timed = true;  // kineto::RecordedStep
  };

  void event(std::string& text) {
    const kineto::KinetoEvent* event = parser_.parse(text);
    if (event == nullptr) {
      ++run_.left_out;
      return;
    }
    const bool is_half = event->phase == 'B' || event->phase == 'E';
    event = is_half ? pairs_.take(*event) : event;
    if (event == nullptr) {
      return;  // its end comes
    }
    if (event->phase == 'M' && event->name == "process_name") {
      foreign_ = foreign_.empty() ? foreign_process(event->thread_name) : foreign_;
      if (const auto rank = rank_in(event->thread_name)) {
        processes_[*rank].insert(event->pid);
      }
    } else if (event->phase == 'X' && event->start && event->duration && *event->duration >= -kClocksApart &&
               *event->start <= kineto::kMostTime && *event->duration <= kineto::kMostTime) {
      span(*event, *event->start, *event->start + std::max<Nanoseconds>(*event->duration, 0));
    } else if (event->phase == 'X' &&
               (kind_of(event->category) || event->name.starts_with(kineto::kStepPrefix))) {
      ++run_.left_out;
    }
  }

  void span(const kineto::KinetoEvent& event, Nanoseconds start, Nanoseconds end) {
    if (const auto kind = kind_of(event.category)) {
      drafts_.push_back({{start, end, *kind, number(event.name), 0, 0}, event.pid, event.correlation, start});
    } else if (event.name.starts_with(kineto::kStepPrefix) && is_operator(event.category)) {
      steps_.push_back({start, end, event.pid});
    } else if (is_operator(event.category)) {
      hosts_.add_operator(event.pid, event.tid, {start, end, event.external_id, number(event.name)});
    } else if (is_call(event.category) && event.correlation > 0) {
      const kineto::CallKind call = kineto::call_kind(event.name);
      if (call == kineto::CallKind::Launch || call == kineto::CallKind::GraphLaunch) {
        launches_.push_back(event.correlation);
      }
      hosts_.add_launch(event.pid, event.tid, {start, event.correlation, event.external_id});
    }
  }

  std::uint32_t number(const std::string& name) {
    const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(run_.names.size()));
    if (fresh) {
      run_.names.push_back(name);
    }
    return entry->second;
  }

  void keep_rank() {
    if (processes_.empty()) {
      return;
    }
    const auto known = processes_.find(rank_);
    if (known == processes_.end()) {
      throw InputError{{run_.file},
                       fmt::format("the timeline has no rank {}; it has {} ranks, the first is {}", rank_,
                                   processes_.size(), processes_.begin()->first)};
    }
    run_.processes = known->second;
    const auto is_another = [&](const auto& one) { return !run_.processes.contains(one.pid); };
    std::erase_if(drafts_, is_another);
    std::erase_if(steps_, is_another);
  }

  /// Drops events whose time was lost.
  void keep_window() {
    std::vector<Nanoseconds> starts;
    for (const Draft& draft : drafts_) {
      starts.push_back(draft.work.start);
    }
    for (const Step& step : steps_) {
      starts.push_back(step.start);
    }
    window_ = TimeWindow{std::move(starts)};
    run_.left_out +=
        std::erase_if(drafts_, [&](const Draft& draft) { return is_lost(draft.work.start, draft.work.end); });
    run_.left_out += std::erase_if(steps_, [&](const Step& step) { return is_lost(step.start, step.end); });
  }

  [[nodiscard]] bool is_lost(Nanoseconds start, Nanoseconds end) const {
    return window_.place_of(start, end) != TimeWindow::Place::Within;
  }

  /// Events left out, or launches without work: what they mean takes a closer look at the file.
  [[nodiscard]] bool has_holes() const {
    std::unordered_set<std::int64_t> recorded;
    for (const Draft& draft : drafts_) {
      recorded.insert(draft.correlation);
    }
    return run_.left_out > 0 || std::ranges::any_of(launches_, [&](std::int64_t correlation) {
             return !recorded.contains(correlation);
           });
  }

  /// The steps; where something is missing, with those whose ranges were lost.
  void find_marks() {
    marks_ = steps_;
    std::sort(marks_.begin(), marks_.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
    if (!has_holes() || marks_.empty()) {
      return;
    }
    const std::vector<kineto::RecordedStep> recorded = recorded_steps();
    const auto first =
        std::ranges::find_if(recorded, [](const auto& step) { return step.range != kineto::kNoRange; });
    if (first == recorded.end()) {
      return;
    }
    const Nanoseconds base = first->start - marks_.front().start;  // RecordedTrace adds that of the file
    marks_.clear();
    for (const kineto::RecordedStep& step : recorded) {
      marks_.push_back({step.start - base, step.end - base, 0, step.is_timed});
      if (!step.is_whole()) {
        run_.incomplete.push_back(fmt::format("{}: missing {}{}", step.name, kineto::missing_in_words(step),
                                              step.is_timed ? "" : "; when it ends is not known"));
      }
    }
  }

  [[nodiscard]] std::vector<kineto::RecordedStep> recorded_steps() const {
    std::vector<kineto::RecordedTrace> ranks = kineto::split_ranks(kineto::read_kineto(run_.file));
    for (kineto::RecordedTrace& trace : ranks) {
      if (ranks.size() == 1 || trace.rank == rank_) {
        (void)replay::link(trace);  // finds launches without work
        return kineto::recorded_steps(trace);
      }
    }
    return {};
  }

  void place() {
    const auto calls = std::move(hosts_).by_correlation(run_.processes);
    const std::uint32_t none = number(kNoOperator);
    for (Draft& draft : drafts_) {
      const auto call = calls.find(draft.correlation);
      draft.work.launcher = call == calls.end() ? none : call->second.launcher.value_or(none);
      const bool has_call = call != calls.end() && !is_lost(call->second.start, call->second.start);
      draft.launched = has_call ? call->second.start : draft.work.start;
      run_.left_out += call != calls.end() && !has_call ? 1 : 0;
      find_family(draft.work, draft.work.launcher == none);
      run_.work.push_back(draft.work);
    }
    std::stable_sort(run_.work.begin(), run_.work.end(),
                     [](const Work& a, const Work& b) { return a.start < b.start; });
  }

  /// Profilers give copies and fills categories of their own; their names say so, too.
  void find_family(Work& work, bool is_launcher_unknown) {
    const std::uint32_t launcher = is_launcher_unknown ? kNone : work.launcher;
    const auto [known, fresh] = family_of_.try_emplace({work.name, launcher}, 0U);
    if (fresh) {
      const std::string& family =
          families_.of(run_.names[work.name], is_launcher_unknown ? "" : run_.names[launcher]);
      known->second = number(family);
    }
    work.family = known->second;
    if (work.kind == WorkKind::Compute && run_.names[work.family] == KernelFamilies::kCommunication) {
      work.kind = WorkKind::Communication;
    }
  }

  void span_work() {
    run_.start = run_.work.front().start;
    run_.end = run_.work.front().end;
    for (const Work& work : run_.work) {
      run_.end = std::max(run_.end, work.end);
    }
  }

  /// The longest stretch of steps whose ends are known; all steps, where none is.
  void span_steps() {
    StepEnds<Nanoseconds> ends{marks_.size()};
    std::vector<Nanoseconds> starts;
    for (const Step& step : marks_) {
      starts.push_back(step.start);
      ends.add_range(starts.size(), step.start, step.end);
    }
    for (const Draft& draft : drafts_) {
      ends.add_work(step_of_launch<Nanoseconds>(starts, draft.launched), draft.work.end);
    }
    const auto steps = ends.steps();
    std::size_t first = 0;
    std::size_t count = 0;
    for (std::size_t begin = 0, end = 0; end < marks_.size(); ++end) {
      begin = marks_[end].is_timed ? begin : end + 1;
      if (end + 1 - begin > count) {
        first = begin;
        count = end + 1 - begin;
      }
    }
    count = count == 0 ? steps.size() : count;
    run_.start = steps[first].begin;
    run_.end = steps[first + count - 1].end;
    run_.steps = static_cast<int>(count);
  }

  RecordedRun run_;
  static constexpr std::uint32_t kNone = ~0U;
  std::int64_t rank_;
  const KernelFamilies& families_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> family_of_;  // by name and launcher
  kineto::EventParser parser_;
  kineto::BeginEndPairs pairs_;
  std::vector<std::int64_t> launches_;  // correlations
  std::string foreign_;                 // whose profile it is, if not PyTorch's or ours
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::map<std::int64_t, std::set<std::int64_t>> processes_;  // by rank: pids
  std::vector<Draft> drafts_;
  std::vector<Step> steps_, marks_;  // as recorded; in order, with what was lost
  TimeWindow window_{{}};
  LaunchingOperators hosts_;
};

}  // namespace

RecordedRun read_run(const std::string& file_name, std::int64_t rank, const KernelFamilies& families) {
  return Reader{file_name, rank, families}.read();
}

}  // namespace lockstep::comparison
