#pragma once

/// @file
/// A machine that is not as the models have it, the same as it would be told from kernels measured there, and
/// the step of a DLRM on each.

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "calibration/kernels/constant_fit.hpp"
#include "ops/kernel_model.hpp"
#include "search/embedding/sharding_problem.hpp"
#include "search/sharding/table_file.hpp"

namespace lockstep {

/// What a step is simulated with in place of the scenario's.
struct OtherMachine {
  std::function<void(KernelEfficiency&)> kernels;
  double host_scale = 1;  ///< of host times
  bool jitter = false;    ///< of kernels, 2 %
  int steps = 30;         ///< whose mean is taken
};

/// Slower random rows, faster updates, slower memory, longer waits.
inline void differ(KernelEfficiency& reached) {
  reached.random_rows *= 0.85;
  reached.scattered_update *= 1.15;
  reached.memory *= 0.95;
  reached.row_latency = 1.3 * reached.row_latency;
}

inline Seconds step_on(const OtherMachine& machine, const ShardingProblem& problem,
                       const EmbeddingPlan& plan) {
  ResolvedScenario resolved = problem.under(plan);
  for (GpuSpec& gpu : resolved.gpu_models) {
    machine.kernels(gpu.efficiency.value);
    gpu.learned.reset();
  }
  resolved.host_scale = machine.host_scale;
  resolved.scenario.steps = machine.steps + 1;  // the first is not counted
  resolved.job.steps = resolved.scenario.steps;
  if (machine.jitter) {
    resolved.scenario.vary.kernels = JitterSpec::parse("lognormal 0.02");
  }
  return predict(resolved, nullptr, EngineMode::Bare).mean_step();
}

/// Fused look-ups and updates as somebody would measure them before predicting: 1 to 15 tables each, of other
/// draws than any task's.
inline std::vector<KernelCall> calls_to_measure(const sharding::TableSet& set, std::int64_t batch,
                                                std::size_t count) {
  const Random random{1, "kernels to measure"};
  std::vector<KernelCall> calls;
  for (std::uint64_t draw = 0; calls.size() < count; ++draw) {
    const Random of_call = random.of(draw);
    EmbeddingBags bags{
        .batch = batch, .tables = {}, .direction = draw % 2 == 0 ? Direction::Forward : Direction::Backward};
    const auto tables = 1 + static_cast<std::uint64_t>(15 * of_call.uniform(0));
    for (std::uint64_t table = 1; table <= tables; ++table) {
      const auto number =
          static_cast<std::size_t>(of_call.uniform(2 * table) * static_cast<double>(set.tables.size()));
      EmbeddingTable shape = set.tables[number].shape;
      shape.dimension = 32 << static_cast<int>(4 * of_call.uniform(2 * table + 1));
      if (shape.pooling_factor > 0) bags.tables.push_back(shape);
    }
    if (!bags.tables.empty()) calls.push_back({"embedding", DataType::FP32, bags});
  }
  return calls;
}

/// By what the models' constants of embedding kernels change, fitted to @p calls timed on the other machine
/// with 2 % of jitter: random rows, scattered updates, waits. Memory and host stay as they were.
inline std::array<double, 3> calibrated(const GpuSpec& known, const std::vector<KernelCall>& calls) {
  constexpr double kHeldOut = 0.2;
  GpuSpec other = known;
  other.learned.reset();
  differ(other.efficiency.value);
  const Random noise{1, "measured kernels"};
  KernelMeasurements rows;
  for (const KernelCall& call : calls) {
    const double jitter = 0.02 * std::sqrt(12) * (noise.uniform(rows.size()) - 0.5);
    rows.push_back({known.name, call, std::exp(jitter) * model_for(call).predict(call, other).duration});
  }
  const KernelEfficiency found =
      fit_constants(
          rows, [&](const std::string&) -> const GpuSpec& { return known; }, kHeldOut)
          .efficiency;
  const KernelEfficiency& before = known.efficiency.value;
  return {found.random_rows / before.random_rows, found.scattered_update / before.scattered_update,
          found.row_latency / before.row_latency};
}

}  // namespace lockstep
