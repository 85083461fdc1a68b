#pragma once

/// @file
/// Operators and nodes as sequences of symbols, a thread at a time.

#include <cstdint>
#include <vector>

#include "traces/pytorch_et/kineto_link.hpp"
#include "traces/pytorch_et/sequence_alignment.hpp"

namespace lockstep::pytorch_et {

/// The calls of one thread in their order; equal symbols are equal names, also between the two sides.
struct CallSequence {
  std::vector<std::size_t> calls;  ///< indices of operators or nodes
  std::vector<Symbol> names;
};

/// A thread of the profile and what is the same thread in the execution trace.
struct ThreadPair {
  CallSequence operators, nodes;
  std::uint32_t repeats = 1;  ///< steps that the profile has for one of the execution trace
};

/// Threads that call the same operators equally often in proportion; most alike first, each once.
[[nodiscard]] std::vector<ThreadPair> thread_pairs(const ExecutionTrace& trace,
                                                   const kineto::RecordedTrace& profile);

/// Whether an operator can have a node: ProfilerStep is the profiler's own.
[[nodiscard]] bool is_linkable(const kineto::Operator& call, const kineto::RecordedTrace& profile);

}  // namespace lockstep::pytorch_et
