#include "schedule/schedule_totals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace lockstep {

ScheduleTotals schedule_totals(std::span<const PhaseTime> phases, std::span<const double> transitions,
                               const PhaseTime& dense) {
  if (transitions.size() + 1 != phases.size()) {
    throw std::logic_error{"a transition lies between each phase and the next"};
  }
  ScheduleTotals totals;
  std::map<std::pair<double, double>, double> steps;  // of equal ones: their order does not round otherwise
  for (const PhaseTime& phase : phases) {
    steps[{phase.step, phase.flops}] += phase.steps;
    totals.in_phases += phase.extra;
  }
  for (const auto& [of_step, count] : steps) {
    totals.in_phases += count * of_step.first;
    totals.flops += count * of_step.second;
  }
  for (std::size_t i = 0; i < transitions.size(); ++i) {
    totals.in_transitions += transitions[i];
    const double gain = phases[i].step - phases[i + 1].step;
    BreakEven& pays = totals.transitions.emplace_back();
    pays.phase = i + 1;
    pays.seconds = transitions[i];
    if (gain > 0) {
      pays.steps = transitions[i] / gain;
      pays.is_too_short = phases[i + 1].steps < *pays.steps;
    }
  }
  totals.seconds = totals.in_phases + totals.in_transitions;
  totals.dense_seconds = dense.seconds();
  totals.dense_flops = dense.steps * dense.flops;
  return totals;
}

double warm_up_seconds(std::span<const double> warm_up, double steps, double step) {
  double sum = 0;
  for (std::size_t i = 0; i < warm_up.size() && static_cast<double>(i) < steps; ++i) {
    sum += warm_up[i] * step;
  }
  return sum;
}

double amdahl_bound(std::span<const PhaseTime> phases, const PhaseTime& dense, double products_share) {
  double left = 0;
  for (const PhaseTime& phase : phases) {
    const double ratio = dense.flops > 0 ? phase.flops / dense.flops : 1;
    left += phase.steps / dense.steps * (1 - products_share + products_share * ratio);
  }
  return 1 - left;
}

}  // namespace lockstep
