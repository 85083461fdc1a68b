#pragma once

/// @file
/// What a result rests on: its band, and how much of the step is measured, fitted, derived, guessed
/// (docs/trust.md).

#include <set>
#include <string>
#include <vector>

#include "calibration/step_band.hpp"
#include "scenario/prediction.hpp"

namespace lockstep {

/// The predictions that a step is made of: its critical path where one was recorded, else its parts on the
/// GPU of a mean rank (docs/trust.md says how these are told apart).
[[nodiscard]] std::vector<PathPrediction> predictions_of(const ResolvedScenario& resolved,
                                                         const SimulationResult& result);

/// The band of the step time from those of predictions_of().
[[nodiscard]] StepBand step_band(const ResolvedScenario& resolved, const SimulationResult& result);

/// Work of a framework's loop that is known and not predicted: its name and its size.
struct OmittedWork {
  std::string what;  ///< `TorchRec's Python and the loader in its process`; empty: nothing
  double share = 0;  ///< of the predicted step (StepBand::omitted)
};
[[nodiscard]] OmittedWork omitted_work(const ScenarioSpec& scenario);

/// Kernels of rank 0 outside the ranges that their models were checked in.
struct OutOfRange {
  double share = 0;  ///< of the kernel time
  std::set<std::string> kernels;
  double fell_back = 0;  ///< share of which networks were asked outside their training
  std::set<std::string> fell_back_kernels;
};
[[nodiscard]] OutOfRange kernels_out_of_range(const ResolvedScenario& resolved);

/// Whether the kernel models' constants are of this GPU: the worse of what its profile says of the GPU and
/// of the set of efficiencies that it names.
[[nodiscard]] Provenance provenance_of(const GpuSpec& gpu);

/// The worst of a share of the critical path, of what is not kernel or collective as well.
[[nodiscard]] Provenance provenance_of(const ResolvedScenario& resolved, const CriticalShare& share);

}  // namespace lockstep
