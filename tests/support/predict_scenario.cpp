// Predicts the step of a scenario: `lockstep run` without its outputs, for a build with sanitizers.

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "scenario/opened_scenario.hpp"
#include "scenario/prediction.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: predict_scenario FILE\n");
    return 2;
  }
  try {
    const lockstep::OpenedScenario opened = lockstep::open_scenario(arguments[1], {});
    const lockstep::ResolvedScenario resolved = lockstep::build(opened.document, opened.configs);
    const lockstep::SimulationResult result = lockstep::predict(resolved, nullptr, std::nullopt);
    fmt::print("{} steps, the last ends after {} s\n", result.step_ends.size(), result.step_ends.back());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
