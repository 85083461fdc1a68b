#pragma once

#include "base/units.hpp"
#include "search/plans/plan_candidate.hpp"
#include "search/plans/plan_space.hpp"

namespace lockstep {

/// Rates of the machine between neighbours.
struct MachineRates {
  FlopsPerSecond products;  ///< dense peak of a GPU
  BytesPerSecond in_node, between_nodes;
};

/// A step time in closed form, for the order in which plans are looked at when time is short. With n
/// micro-batches of T tokens (of a sequence rank), L / p layers of P active parameters, width h:
///
///   products   6 n T P L / (p t c)          at the peak           (Kaplan et al., arXiv 2001.08361,
///   section 2.1) bubble     products (p - 1) / (n v)                           (Narayanan et al., arXiv
///   2104.04473, section 2.2) tensor     4 all-reduces of 2 T h bytes a layer and micro-batch, 2 (t - 1) / t
///   each (same, section 3.2) experts    4 all-to-alls of 2 k T h / t bytes a layer and micro-batch, (e - 1)
///   / e each context    keys and values, 6 T h (c - 1) bytes a layer and micro-batch, of which products hide
///   what they can data       4 (d - 1) / d bytes of each parameter a step, of which products hide what they
///   can
///
/// *Assumes* groups between nodes once they and what is nested inside them fill one.
/// *Valid for* the order only: it knows neither kernels nor launches.
[[nodiscard]] Seconds closed_form_step_time(const PlanCandidate& candidate, const PlanProblem& problem,
                                            const MachineRates& rates);

}  // namespace lockstep
