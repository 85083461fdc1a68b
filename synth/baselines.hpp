#pragma once

/// @file
/// What a sampler has to beat: jobs of which only the nodes' statistics are those of the training jobs.

#include <cstdint>
#include <span>

#include "synth/recording.hpp"

namespace lockstep::synth {

/// Draws as many launches and collectives as a training job has, each by lot from all of them, in any order
/// (the bootstrap: Efron, Annals of Statistics 7(1), 1979).
/// @param jobs that were trained on, at least one
[[nodiscard]] Recording bootstrap_of_nodes(std::span<const Recording> jobs, std::uint64_t seed);

/// The same, but the class of a node depends on the class of the node before it, as often as the training
/// jobs have the two in a row: a Markov chain of order 1. The node is drawn from those of its class.
[[nodiscard]] Recording markov_chain(std::span<const Recording> jobs, std::uint64_t seed);

}  // namespace lockstep::synth
