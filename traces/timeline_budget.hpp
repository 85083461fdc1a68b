#pragma once

/// @file
/// Which part of a simulation a timeline shows where all of it would be too much for a viewer.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/job.hpp"

namespace lockstep {

/// About as many events as chrome://tracing and Perfetto's JSON importer take.
constexpr std::uint64_t kTimelineEvents = 1'000'000;

struct TimelinePart {
  std::vector<std::uint32_t> ranks;
  std::uint32_t first_step = 0;  ///< steps before it are not shown
  std::uint64_t events = 0;      ///< of what is shown, about: without noise and steps' names
  std::uint64_t all_events = 0;  ///< of all the ranks and steps that were asked for
  std::string left_out{};        ///< in a sentence; empty: nothing is
};

/// JSON events of a step of a program: a slice for each instruction that takes time, and for a launch also
/// the kernel and both halves of their arrow.
[[nodiscard]] std::uint64_t events_of_step(const Program& program);

/// Leaves out early steps first, then ranks, spread evenly; one rank and the last step stay.
/// @param ranks those that may be shown, not empty
[[nodiscard]] TimelinePart part_within(const Job& job, std::span<const std::uint32_t> ranks,
                                       std::uint64_t most_events);

}  // namespace lockstep
