#pragma once

/// @file
/// Times of phases and transitions, added up. Pure arithmetic: who predicted the times does not matter.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lockstep {

/// A phase, or the dense training, as totals take it.
struct PhaseTime {
  double steps = 0;
  double step = 0;   ///< s
  double flops = 0;  ///< of a step, all ranks
  double extra = 0;  ///< s, by which its first steps are longer

  [[nodiscard]] double seconds() const { return steps * step + extra; }
};

/// Whether a transition pays, taken alone.
struct BreakEven {
  std::size_t phase = 0;  ///< that begins with the transition
  double seconds = 0;     ///< of the transition, s
  /// n* = X / (t_before - t_after); none where steps get no shorter.
  std::optional<double> steps;
  bool is_too_short = false;  ///< the phase has fewer steps than that
};

/// T = sum n_p t_p + sum X_pq; S_t = 1 - T / (N t_full); S_f = 1 - sum n_p F_p / (N F_full).
struct ScheduleTotals {
  double seconds = 0;         ///< T
  double in_phases = 0;       ///< s
  double in_transitions = 0;  ///< s
  double dense_seconds = 0;   ///< of training the full model
  double flops = 0, dense_flops = 0;
  std::vector<BreakEven> transitions;

  [[nodiscard]] double time_saved() const { return 1 - seconds / dense_seconds; }
  /// 0 where nothing is multiplied.
  [[nodiscard]] double flops_saved() const { return dense_flops > 0 ? 1 - flops / dense_flops : 0; }
};

/// @param transitions s, between each phase and the next: one less than phases
/// @throws std::logic_error for another number of transitions
[[nodiscard]] ScheduleTotals schedule_totals(std::span<const PhaseTime> phases,
                                             std::span<const double> transitions, const PhaseTime& dense);

/// The time that first steps take beyond t: t x sum of @p warm_up, as far as there are steps.
[[nodiscard]] double warm_up_seconds(std::span<const double> warm_up, double steps, double step);

/// Most that can be saved where products alone get shorter, by their FLOPs: sum f_p (1 - r_p) m, with f_p the
/// phases' shares of the dense training's steps, r_p = F_p / F_full, and m the products' share of a full step
/// (Amdahl, AFIPS 1967). Negative where the schedule has more to do.
[[nodiscard]] double amdahl_bound(std::span<const PhaseTime> phases, const PhaseTime& dense,
                                  double products_share);

}  // namespace lockstep
