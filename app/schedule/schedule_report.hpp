#pragma once

/// @file
/// Reports of a schedule: for people, for programs, as a picture.

#include <string>

#include "schedule/schedule_prediction.hpp"
#include "schedule/schedule_search.hpp"

namespace lockstep {

/// A training that a schedule is held against besides the dense one.
struct OtherTraining {
  std::string name;
  double seconds = 0;
  double gpu_hours = 0;
};

/// `2.5 h`, `12.4 days`: four significant digits.
[[nodiscard]] std::string long_time(double seconds);

/// One screen: phases, transitions, what is saved, and what the FLOPs' promise lost. The same bytes for the
/// same scenario.
[[nodiscard]] std::string schedule_text(const SchedulePrediction& prediction, const OtherTraining* other);

/// The widths that a search tried, and what it found.
[[nodiscard]] std::string search_text(const SearchedSchedule& searched);

/// All figures, SI units.
[[nodiscard]] std::string schedule_json(const SchedulePrediction& prediction, const OtherTraining* other);

/// Both trainings along time, the step of each distinct phase by part beside what FLOPs promise, and the way
/// from FLOPs saved to time saved.
[[nodiscard]] std::string schedule_svg(const SchedulePrediction& prediction);

}  // namespace lockstep
