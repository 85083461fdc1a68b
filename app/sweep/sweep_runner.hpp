#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
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

/// The result of one process of a sweep.
struct SweepEnd {
  std::size_t simulated = 0;                  ///< points, by this process
  std::vector<std::optional<SweepRow>> rows;  ///< by whomever, in the order of the plan; none: no record yet
  int interruption = 0;                       ///< signal that asked to stop; 0: none

  [[nodiscard]] std::size_t recorded() const;  ///< points that are done
};

/// Simulates the points that have no record, each in a forked process, and claims each before, so that
/// processes that share the folder share the work. Each begins at another point of the plan. Returns when no
/// point is left to be begun; with SweepPlace::waits when all are recorded.
/// @pre the process has one thread (app/forked_tasks.hpp)
/// @throws InputError where the folder cannot be written
SweepEnd run_sweep(const SweepPlan& plan, const SweepOptions& options, const Progress& progress);

}  // namespace lockstep
