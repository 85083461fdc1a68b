#pragma once

/// @file
/// A machine that is not as the models have it, the same as it would be told from kernels measured there, and
/// the step of a DLRM on each.

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "app/search/sharding_problem.hpp"
#include "base/random.hpp"
#include "calibration/least_squares.hpp"
#include "ops/kernel_model.hpp"
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
  Setting setting = problem.under(plan);
  for (GpuSpec& gpu : setting.gpu_models) {
    machine.kernels(gpu.efficiency.value);
    gpu.learned.reset();
  }
  setting.host_scale = machine.host_scale;
  setting.scenario.steps = machine.steps + 1;  // the first is not counted
  setting.job.steps = setting.scenario.steps;
  if (machine.jitter) {
    setting.scenario.vary.kernels = JitterSpec::parse("lognormal 0.02");
  }
  return predict(setting, nullptr, EngineMode::Bare).mean_step();
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

/// The models' constants of embedding kernels, fitted to @p calls timed on the other machine with 2 % of
/// jitter: random rows, scattered updates, waits. Memory and host stay as they were.
inline std::array<double, 3> calibrated(const GpuSpec& known, const std::vector<KernelCall>& calls) {
  GpuSpec other = known;
  other.learned.reset();
  GpuSpec guess = other;
  differ(other.efficiency.value);
  const Random noise{1, "measured kernels"};
  std::vector<double> measured;
  for (const KernelCall& call : calls) {
    measured.push_back(std::log(model_for(call).predict(call, other).duration / Seconds{1}) +
                       0.02 * std::sqrt(12) * (noise.uniform(measured.size()) - 0.5));
  }
  const KernelEfficiency start = guess.efficiency.value;
  const auto residuals = [&](std::span<const double> logs) {
    KernelEfficiency& reached = guess.efficiency.value;
    reached.random_rows = start.random_rows * std::exp(logs[0]);
    reached.scattered_update = start.scattered_update * std::exp(logs[1]);
    reached.row_latency = std::exp(logs[2]) * start.row_latency;
    std::vector<double> differences;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Seconds time = model_for(calls[i]).predict(calls[i], guess).duration;
      differences.push_back((std::log(time / Seconds{1}) - measured[i]) / 0.02);
    }
    return differences;
  };
  const std::vector<double> found = least_squares(residuals, {0, 0, 0});
  return {std::exp(found[0]), std::exp(found[1]), std::exp(found[2])};
}

}  // namespace lockstep
