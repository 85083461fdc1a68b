#pragma once

#include <vector>

#include "traces/replay/rank_recording.hpp"

namespace lockstep::replay {

/// Facts that a rank's Program needs beside the calls themselves, keyed by where they are written. Each order
/// between threads is a flag of its own: posted after the one, awaited before the other.
struct Dependencies {
  std::vector<std::uint32_t> threads;                 ///< that the Program has, the main one first
  std::vector<std::uint32_t> anchors;                 ///< by work: as find_starts() takes them
  std::vector<std::uint32_t> at_begin;                ///< work without launch, before everything else
  std::vector<std::vector<std::uint32_t>> followers;  ///< by work: work without launch behind it
  std::vector<std::uint32_t> event;                   ///< by work: recorded behind it; kNone: nobody waits
  std::vector<std::vector<std::uint32_t>> posts;      ///< by work: flags, after its launch
  std::vector<std::vector<std::uint32_t>> awaits;     ///< by call: flags, before it
  std::vector<std::uint32_t> silent_awaits;           ///< by SilentWaits::waits: flag before it; kNone: none
  std::uint32_t events = 0, flags = 0;
};

/// Flags of handoffs come first: flag k is SilentWaits::handoffs[k].
[[nodiscard]] Dependencies find_dependencies(const RankRecording& rank);

}  // namespace lockstep::replay
