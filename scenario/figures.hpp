#pragma once

#include <optional>

#include "scenario/prediction.hpp"

namespace lockstep {

/// Figures that follow from a result and the workload.
struct Figures {
  std::optional<double> samples_per_s;  ///< none for a trace
  std::optional<double> tokens_per_s;   ///< of models that read tokens
  std::optional<double> mfu;            ///< none for a job without matrix products
  std::optional<double>
      cost_per_million;  ///< tokens, or samples where there are none; where a price is given
};

/// @param step s
/// @param gpus of the job
/// @param at_peak of the step's matrix products, mean of the GPUs; 0: not known, or none
[[nodiscard]] Figures figures_of(const ScenarioSpec& scenario, double step, std::size_t gpus,
                                 Seconds at_peak);

/// MFU: the time that the products of a step take at the GPUs' dense peaks (ops/model_flops.hpp), over the
/// step's. Cost: price_per_gpu_hour times the GPUs of the job, over tokens_per_s or samples_per_s.
[[nodiscard]] Figures figures_of(const ResolvedScenario& resolved, const SimulationResult& result);

}  // namespace lockstep
