#include "schedule/width_search.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace lockstep {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The beginning of a schedule.
struct Beginning {
  double seconds = 0;
  double flops = 0;
  double quality = 0;          ///< summed over slots
  std::size_t width = 0;       ///< of its last slot
  std::size_t before = kNone;  ///< the beginning that is a slot shorter
};

/// Width of the last slot, phases so far, full slots so far.
using State = std::tuple<std::size_t, std::size_t, std::size_t>;

class WidthSearch {
 public:
  explicit WidthSearch(const WidthSearchTask& task) : task_{task}, full_{task.widths.size() - 1} {
    if (task.least_flops_saved && task.most_flops_saved) {
      throw std::logic_error{"a search bounds the saved FLOPs from one side"};
    }
  }

  std::optional<FoundSchedule> run() {
    std::map<State, std::vector<std::size_t>> now;
    for (std::size_t width = 0; width < task_.widths.size(); ++width) {
      extend(now, {width, 1, std::min(full_slots(width), task_.least_full_slots)},
             beginning(width, kNone, 0));
    }
    for (std::size_t slot = 1; slot < task_.slots; ++slot) {
      std::map<State, std::vector<std::size_t>> next;
      for (const auto& [state, beginnings] : now) {
        for (const std::size_t before : beginnings) {
          go_on(state, before, next);
        }
      }
      now = std::move(next);
    }
    return best_of(now);
  }

 private:
  [[nodiscard]] std::size_t full_slots(std::size_t width) const { return width == full_ ? 1 : 0; }

  [[nodiscard]] Beginning beginning(std::size_t width, std::size_t before, double transition) const {
    const Beginning& old = before == kNone ? Beginning{} : known_[before];
    const WidthChoice& choice = task_.widths[width];
    return {old.seconds + transition + task_.steps_of_slot * choice.step,
            old.flops + task_.steps_of_slot * choice.flops, old.quality + choice.quality, width, before};
  }

  void go_on(const State& state, std::size_t before, std::map<State, std::vector<std::size_t>>& next) {
    const auto [old, phases, full] = state;
    for (std::size_t width = 0; width < task_.widths.size(); ++width) {
      const std::size_t now = phases + (width == old ? 0 : 1);
      if (now <= task_.most_phases) {
        const double transition = width == old ? 0 : task_.transitions[old][width];
        const std::size_t least = std::min(full + full_slots(width), task_.least_full_slots);
        extend(next, {width, now, least}, beginning(width, before, transition));
      }
    }
  }

  /// Whether nothing that follows lets @p b be better than @p a.
  [[nodiscard]] bool beats(const Beginning& a, const Beginning& b) const {
    const bool in_flops = task_.most_flops_saved ? a.flops >= b.flops : a.flops <= b.flops;
    return a.seconds <= b.seconds && (in_flops || !is_bounded()) &&
           (a.quality >= b.quality || !task_.least_quality);
  }
  [[nodiscard]] bool is_bounded() const { return task_.least_flops_saved || task_.most_flops_saved; }

  void extend(std::map<State, std::vector<std::size_t>>& states, const State& state, const Beginning& with) {
    std::vector<std::size_t>& kept = states[state];
    if (std::ranges::any_of(kept, [&](std::size_t one) { return beats(known_[one], with); })) {
      return;
    }
    std::erase_if(kept, [&](std::size_t one) { return beats(with, known_[one]); });
    kept.push_back(known_.size());
    known_.push_back(with);
  }

  [[nodiscard]] double saved(const Beginning& whole) const {
    const double dense = task_.widths[full_].flops * task_.steps_of_slot * static_cast<double>(task_.slots);
    return dense > 0 ? 1 - whole.flops / dense : 0;
  }

  [[nodiscard]] double mean_quality(const Beginning& whole) const {
    return whole.quality / static_cast<double>(task_.slots);
  }

  [[nodiscard]] bool is_allowed(const State& state, const Beginning& whole) const {
    constexpr double kRounding = 1e-12;
    return std::get<0>(state) == full_ && std::get<2>(state) >= task_.least_full_slots &&
           (!task_.least_flops_saved || saved(whole) >= *task_.least_flops_saved - kRounding) &&
           (!task_.most_flops_saved || saved(whole) <= *task_.most_flops_saved + kRounding) &&
           (!task_.least_quality || mean_quality(whole) >= *task_.least_quality - kRounding);
  }

  [[nodiscard]] std::optional<FoundSchedule> best_of(
      const std::map<State, std::vector<std::size_t>>& ends) const {
    std::size_t best = kNone;
    for (const auto& [state, beginnings] : ends) {
      for (const std::size_t one : beginnings) {
        if (is_allowed(state, known_[one]) && (best == kNone || known_[one].seconds < known_[best].seconds)) {
          best = one;
        }
      }
    }
    if (best == kNone) {
      return std::nullopt;
    }
    FoundSchedule found{{}, known_[best].seconds, saved(known_[best]), mean_quality(known_[best])};
    for (std::size_t one = best; one != kNone; one = known_[one].before) {
      found.width_of_slot.push_back(known_[one].width);
    }
    std::ranges::reverse(found.width_of_slot);
    return found;
  }

  const WidthSearchTask& task_;
  std::size_t full_;
  std::vector<Beginning> known_;
};

}  // namespace

std::optional<FoundSchedule> fastest_schedule(const WidthSearchTask& task) {
  return WidthSearch{task}.run();
}

}  // namespace lockstep
