#pragma once

#include <filesystem>
#include <vector>

#include "app/sweep/point_record.hpp"
#include "app/sweep/sweep_place.hpp"
#include "app/sweep/sweep_plan.hpp"
#include "base/progress.hpp"

namespace lockstep {

struct SweepOptions {
  std::filesystem::path folder;
  int jobs = 1;
  SweepPlace place;
};

/// What one process of a sweep did.
struct SweepEnd {
  std::size_t simulated = 0;  ///< points, by this process
  std::size_t recorded = 0;   ///< points that are done, by whomever
  int interruption = 0;       ///< signal that asked to stop; 0: none
};

/// Simulates the points that have no record, each in a forked process, and claims each before, so that
/// processes that share the folder share the work. Each begins at another point of the plan. Returns when no
/// point is left to be begun; with SweepPlace::waits when all are recorded.
/// @pre the process has one thread (app/forked_tasks.hpp)
/// @throws InputError where the folder cannot be written
SweepEnd run_sweep(const SweepPlan& plan, const SweepOptions& options, const Progress& progress);

/// All rows in the order of the plan; std::nullopt while a point has no record.
[[nodiscard]] std::vector<std::optional<SweepRow>> read_rows(const SweepPlan& plan,
                                                             const std::filesystem::path& folder);

}  // namespace lockstep
