#pragma once

/// @file
/// What stragglers cost: a recorded timeline replayed with the durations of some operations replaced by what
/// is typical of their type.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "traces/pipeline/step_order.hpp"
#include "traces/pipeline/timeline.hpp"

namespace lockstep::pipeline {

/// Whether a task's recorded delay passes before it.
enum class Delays : bool { None, Recorded };

/// Tells which operations keep their recorded durations; the others take the typical one.
using Kept = std::function<bool(const Operation&, const Worker&)>;

/// A timeline that can be replayed with other durations.
class Replay {
 public:
  /// @throws InputError as order_of()
  explicit Replay(const Timeline& timeline);

  /// Typical seconds by type: the mean over all steps, micro-batches and workers of a computation, the median
  /// of a transfer. Long transfers are a network's accidents, not a stage's work ("Understanding Stragglers
  /// in Large Model Training Using What-if Analysis", Lin et al., arXiv 2505.05713, sec. 3).
  [[nodiscard]] const std::map<std::string, double>& typical() const { return typical_; }

  /// Simulated time of each step, in the order of Timeline::steps.
  [[nodiscard]] std::vector<double> steps(const Kept& kept, Delays delays) const;
  [[nodiscard]] double mean_step(const Kept& kept, Delays delays) const;

  /// Mean over the steps, from the first start to the last end.
  [[nodiscard]] double measured() const;
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }

 private:
  const Timeline& timeline_;
  std::vector<StepOrder> orders_;
  std::map<std::string, double> typical_;
};

/// The contribution of a part of the job to the lost time.
struct Contribution {
  std::string part;
  double alone = 0;      ///< slow-down when it alone is as recorded and all else typical
  double explained = 0;  ///< share of the lost time that is gone when it alone is typical
};

/// All slow-downs are over the ideal: everything typical. Seconds are means over the steps.
struct StragglerStudy {
  double measured = 0, replayed = 0, ideal = 0;
  double slowdown = 1;
  std::vector<Contribution> stages, data_ranks, types;
};

[[nodiscard]] StragglerStudy study_stragglers(const Replay& replay, Delays delays);

/// A table of it.
[[nodiscard]] std::string to_text(const StragglerStudy& study);

}  // namespace lockstep::pipeline
