#pragma once

/// @file
/// The fastest schedule of one layer group under bounds, over a grid of kept widths.

#include <optional>
#include <string>
#include <vector>

#include "schedule/phase_cache.hpp"
#include "schedule/width_search.hpp"

namespace lockstep {

/// `top_mlp in 0.25..1 by 0.125, phases <= 4, every 5 %, saved_flops >= 30 %, full >= 20 %`.
struct SearchRequest {
  LayerGroup group = LayerGroup::TopMlp;
  double least = 0.25, most = 1, step = 0.125;  ///< shares that are tried
  std::size_t phases = 4;
  double every = 0.05;  ///< of the training: where phases may begin
  std::optional<double> least_flops_saved, most_flops_saved;
  std::optional<double> least_quality;  ///< of the mean over steps, by the user's curve
  double full = 0;                      ///< least share of the training at full size

  /// @throws std::invalid_argument naming the clause that is wrong, with one that is right
  static SearchRequest parse(const std::string& text);
};

struct SearchedSchedule {
  WidthSearchTask task;
  FoundSchedule found;
  std::string phases;  ///< as `schedule.phases` takes it, on one line
};

/// Simulates a step at each width of the grid and the transitions between all of them, then searches exactly.
/// @param document with a schedule, whose length and transition count; its phases do not
/// @throws InputError where no schedule keeps the bounds
[[nodiscard]] SearchedSchedule search_schedule(YamlDocument document, const ConfigPath& configs,
                                               const SearchRequest& request, const Timelines& timelines);

/// The document with these phases in place of its own.
/// @param phases as `schedule.phases` takes it
[[nodiscard]] YamlDocument with_phases(YamlDocument document, const std::string& phases);

}  // namespace lockstep
