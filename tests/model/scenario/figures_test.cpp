#include "scenario/figures.hpp"

#include <gtest/gtest.h>

#include "ops/model_flops.hpp"

namespace lockstep {
namespace {

ResolvedScenario resolved_from(const std::string& text) {
  return build(YamlDocument::from_text(text, "scenario.yaml"), ConfigPath::standard());
}

// Chowdhery et al. (arXiv 2204.02311, app. B): a token costs 6 N + 12 L H Q T FLOPs, N parameters in
// products, L layers, H Q = h the hidden size, T the sequence. GPT-2: L 12, h 768, T 1024; products have 12
// h^2 parameters a layer, and the head's V h. Its attention is made of plain products, which do the masked
// half too.
TEST(Figures, Gpt2NeedsWhatPalmsFormulaSays) {
  const ResolvedScenario resolved = resolved_from(
      "name: x\ncluster: single_a100_40gb x 1\nworkload: {model: gpt2, global_batch: 8, precision: bf16}\n");
  const double tokens = 8.0 * 1024;
  const double hidden = 768;
  const double layers = 12;
  const auto vocabulary = static_cast<double>(resolved.scenario.workload->model->transformer->vocabulary);
  const double products = 12 * layers * hidden * hidden + vocabulary * hidden;
  const double flops = tokens * (6 * products + 12 * layers * hidden * 1024);
  const Seconds at_peak = time_at_peak(resolved.job, resolved.gpu_models, resolved.gpu_model_of_rank);
  EXPECT_NEAR(at_peak.in_base_units(), flops / 312e12, 1e-9 * flops / 312e12);
}

// A step of 0.5 s, 16 samples of 1024 tokens on 2 GPUs that cost 3.6 an hour each, 0.002 a second together:
// 32 samples/s, 32768 tokens/s, 0.002 / 32768 * 10^6 = 0.06104 for a million tokens.
TEST(Figures, CostIsThePriceOfAllGpusOverWhatTheyDo) {
  ResolvedScenario resolved = resolved_from(
      "name: x\ncluster: dgx_a100 x 1\nworkload: {model: gpt2, global_batch: 16, precision: bf16}\n"
      "parallelism: {ranks: 2}\nprice_per_gpu_hour: 3.6\n");
  SimulationResult result;
  result.step_ends = {0.5};
  const Figures figures = figures_of(resolved, result);
  EXPECT_DOUBLE_EQ(figures.samples_per_s.value(), 32);
  EXPECT_DOUBLE_EQ(figures.tokens_per_s.value(), 32768);
  EXPECT_NEAR(figures.cost_per_million.value(), 0.0610352, 1e-6);
  resolved.scenario.price_per_gpu_hour.reset();
  EXPECT_FALSE(figures_of(resolved, result).cost_per_million.has_value());
}

TEST(Figures, ADlrmHasSamplesAndNoTokens) {
  const ResolvedScenario resolved = resolved_from(
      "name: x\ncluster: single_v100_16gb x 1\nworkload: {model: dlrm_default, global_batch: 2048}\n"
      "price_per_gpu_hour: 1\n");
  SimulationResult result;
  result.step_ends = {1};
  const Figures figures = figures_of(resolved, result);
  EXPECT_FALSE(figures.tokens_per_s.has_value());
  EXPECT_NEAR(figures.cost_per_million.value(), 1e6 / 3600 / 2048, 1e-9);
  EXPECT_GT(figures.mfu.value(), 0);
}

}  // namespace
}  // namespace lockstep
