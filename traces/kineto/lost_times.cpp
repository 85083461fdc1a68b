#include "traces/kineto/lost_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "traces/time_window.hpp"

namespace lockstep::kineto {
namespace {

using Place = TimeWindow::Place;

constexpr Oddity kLost{"event whose time was lost", "0, where all others are much later; left out",
                       Severity::Warning};
constexpr Oddity kOutside{"event far outside the window",
                          "its time is years, or orders of magnitude, from that of all others; left out",
                          Severity::Warning};

class LostTimes {
 public:
  LostTimes(RecordedTrace& trace, const FilePlaces& places)
      : trace_{trace}, places_{places}, window_{starts_of(trace)} {}

  void take_out() {
    if (!any(trace_.operators) && !any(trace_.calls) && !any(trace_.work) && !any(trace_.syncs)) {
      return;
    }
    visit(trace_.operators, places_.operators, LostEvent::Kind::Operator);
    visit(trace_.calls, places_.calls, LostEvent::Kind::Call);
    visit(trace_.work, places_.work, LostEvent::Kind::Work);
    place_near();
    const auto is_lost = [this](const auto& event) { return place_of(event) != Place::Within; };
    std::erase_if(trace_.operators, is_lost);
    std::erase_if(trace_.calls, is_lost);
    std::erase_if(trace_.work, is_lost);
    std::erase_if(trace_.syncs, is_lost);
    std::erase_if(trace_.forward_backward, [this](const ForwardBackward& link) {
      return window_.place_of(link.forward, link.forward) != Place::Within ||
             window_.place_of(link.backward, link.backward) != Place::Within;
    });
  }

 private:
  /// A thread of the host, or a stream: pid and number.
  using Track = std::tuple<bool, std::int64_t, std::int64_t>;
  struct Seen {
    std::uint64_t place = 0;  // in the file
    Track track;
    Nanoseconds start = 0;
    std::uint32_t lost = ~0U;  // index; none: it has a time
  };

  static std::vector<Nanoseconds> starts_of(const RecordedTrace& trace) {
    std::vector<Nanoseconds> starts;
    starts.reserve(trace.operators.size() + trace.calls.size() + trace.work.size());
    const auto add = [&](const auto& events) {
      for (const auto& event : events) {
        starts.push_back(event.start);
      }
    };
    add(trace.operators);
    add(trace.calls);
    add(trace.work);
    return starts;
  }

  template <class Event>
  [[nodiscard]] Place place_of(const Event& event) const {
    return window_.place_of(event.start, event.end);
  }

  template <class Event>
  [[nodiscard]] bool any(const std::vector<Event>& events) const {
    return std::ranges::any_of(events,
                               [this](const Event& event) { return place_of(event) != Place::Within; });
  }

  template <class Event>
  void visit(const std::vector<Event>& events, const std::vector<std::uint64_t>& places,
             LostEvent::Kind kind) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      seen_.push_back({places[i], track_of(events[i]), events[i].start, ~0U});
      if (const Place place = place_of(events[i]); place != Place::Within) {
        seen_.back().lost = static_cast<std::uint32_t>(trace_.lost.size());
        trace_.lost.push_back(lost(events[i], kind));
        tell(trace_.lost.back(), events[i].start, place);
      }
    }
  }

  template <class Event>
  [[nodiscard]] Track track_of(const Event& event) const {
    return {true, trace_.threads[event.thread].pid, event.thread};
  }
  [[nodiscard]] static Track track_of(const Work& work) { return {false, work.pid, work.stream}; }

  template <class Event>
  [[nodiscard]] LostEvent lost(const Event& event, LostEvent::Kind kind) const {
    LostEvent made{kind, event.name, -1, -1, std::get<1>(track_of(event)), "thread "};
    made.track += trace_.threads[event.thread].tid;
    if constexpr (requires { event.correlation; }) {
      made.correlation = event.correlation;
    }
    return made;
  }
  [[nodiscard]] static LostEvent lost(const Work& work, LostEvent::Kind kind) {
    return {kind, work.name, -1, work.correlation, work.pid, fmt::format("stream {}", work.stream)};
  }

  void tell(const LostEvent& event, Nanoseconds start, Place place) {
    constexpr std::size_t kLongestName = 28;
    constexpr double kMicro = 1e-3;
    trace_.report.add(
        place == Place::Lost ? kLost : kOutside,
        fmt::format("{}, {}, at {:.0f} us", trace_.names.text(event.name).substr(0, kLongestName),
                    event.track, kMicro * static_cast<double>(start)));
  }

  /// The event before each in the file, on its thread or stream, says about when it was; of work whose call
  /// is lost too, the event before the call.
  void place_near() {
    std::ranges::sort(seen_, {}, &Seen::place);
    std::map<Track, Nanoseconds> latest;
    for (const Seen& one : seen_) {
      const auto before = latest.find(one.track);
      if (one.lost == ~0U) {
        latest.insert_or_assign(one.track, one.start);
      } else if (before != latest.end()) {
        trace_.lost[one.lost].near = before->second;
      }
    }
    std::map<std::int64_t, Nanoseconds> near_calls;
    for (const LostEvent& event : trace_.lost) {
      if (event.kind == LostEvent::Kind::Call && event.correlation >= 0) {
        near_calls.emplace(event.correlation, event.near);
      }
    }
    for (LostEvent& event : trace_.lost) {
      const auto call = near_calls.find(event.correlation);
      if (event.kind == LostEvent::Kind::Work && call != near_calls.end()) {
        event.near = call->second;
      }
    }
  }

  RecordedTrace& trace_;
  const FilePlaces& places_;
  TimeWindow window_;
  std::vector<Seen> seen_;
};

}  // namespace

void take_out_lost(RecordedTrace& trace, const FilePlaces& places) {
  LostTimes{trace, places}.take_out();
}

}  // namespace lockstep::kineto
