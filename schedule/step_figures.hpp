#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/step_band.hpp"
#include "scenario/prediction.hpp"
#include "schedule/attribution.hpp"

namespace lockstep {

/// Memory of the GPU that is filled most.
struct FilledMemory {
  Bytes used, capacity;
};

/// A step as a schedule needs to know it.
struct StepFigures {
  double step = 0;    ///< s
  StepBand band;      ///< of it
  StepParts parts{};  ///< s, adding up to the step
  double flops = 0;   ///< of the model, all ranks
  double busy = 0;    ///< share of the step that a GPU works, mean of the metered ranks
  std::size_t ranks = 1;
  double samples = 0;            ///< of a step
  std::optional<double> tokens;  ///< likewise, of models that read tokens
  std::optional<FilledMemory> memory;
  std::optional<double> parameters;  ///< elements, of transformers without experts
  bool along_path = true;            ///< parts are those of the critical path; else of a mean rank's GPU

  /// The part that takes most.
  [[nodiscard]] StepPart bound_by() const;
};

/// Parts are the critical path's, each in its share of it; of a job too large to record one, those of a mean
/// rank's GPU, whose kernels count as products.
[[nodiscard]] StepFigures step_figures(const ResolvedScenario& resolved, const SimulationResult& result);

}  // namespace lockstep
