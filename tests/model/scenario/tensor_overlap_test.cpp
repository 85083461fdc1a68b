/// @file
/// What communication in pieces saves of a step: something, and no more than what was not hidden.

#include <gtest/gtest.h>

#include <numeric>

#include "scenario/prediction.hpp"

namespace lockstep {
namespace {

ResolvedScenario resolved_from(const std::string& more) {
  return build(YamlDocument::from_text(
                   "name: x\ncluster: dgx_h100 x 1\nsteps: 1\n"
                   "workload: {model: {from: llama3_70b, transformer: {layers: 4}}, global_batch: 4, "
                   "micro_batch: 2, precision: bf16}\n"
                   "parallelism: {tensor: 8, sequence_parallel: true" +
                       more + "}\n",
                   "scenario.yaml"),
               ConfigPath::standard());
}

double exposed(const SimulationResult& result) {
  const Activity& activity = result.metered.front().activity;
  return std::accumulate(activity.exposed_transfer.begin(), activity.exposed_transfer.end(), 0.0) +
         std::accumulate(activity.exposed_waiting.begin(), activity.exposed_waiting.end(), 0.0);
}

TEST(TensorOverlap, SavesPartOfWhatWasExposed) {
  const SimulationResult whole = predict(resolved_from(""), nullptr, EngineMode::Bare);
  const SimulationResult pieces = predict(resolved_from(", tensor_overlap: true"), nullptr, EngineMode::Bare);
  EXPECT_LT(pieces.mean_step(), whole.mean_step());
  EXPECT_LT(exposed(pieces), exposed(whole));
  EXPECT_GE(pieces.mean_step().in_base_units(), whole.mean_step().in_base_units() - exposed(whole));
}

}  // namespace
}  // namespace lockstep
