#pragma once

/// @file
/// Which width when: the fastest schedule over discrete widths, by dynamic programming.

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep {

/// A width that phases may have.
struct WidthChoice {
  double share = 1;    ///< kept
  double step = 0;     ///< s
  double flops = 0;    ///< of a step
  double quality = 0;  ///< by the user's curve
};

/// The training in slots of equal length; a phase is a run of slots of one width.
struct WidthSearchTask {
  std::vector<WidthChoice> widths;               ///< ascending, the last one full
  std::vector<std::vector<double>> transitions;  ///< s, from width to width
  std::size_t slots = 1;
  double steps_of_slot = 1;
  std::size_t most_phases = 1;
  std::optional<double> least_flops_saved, most_flops_saved;  ///< share of the dense training's; one of them
  std::size_t least_full_slots = 0;
  std::optional<double> least_quality;  ///< of the mean over slots
};

struct FoundSchedule {
  std::vector<std::size_t> width_of_slot;
  double seconds = 0;
  double flops_saved = 0;
  double quality = 0;  ///< mean over slots
};

/// The schedule with the least time that ends at full width, has at most so many phases, and keeps the
/// bounds; std::nullopt where none does. Exact: by slot, width, phases and full slots it keeps all that are
/// not beaten in time and, as far as bounds ask, FLOPs and quality. Of equal ones the first in the order of
/// widths.
/// @throws std::logic_error for both bounds of FLOPs at once
[[nodiscard]] std::optional<FoundSchedule> fastest_schedule(const WidthSearchTask& task);

}  // namespace lockstep
