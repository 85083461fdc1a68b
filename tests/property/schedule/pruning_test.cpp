#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "scenario/prediction.hpp"
#include "schedule/kept_model.hpp"

namespace lockstep {
namespace {

constexpr double kOverlap = 1.001;  // what is hidden otherwise by a thousandth

double step_of(const std::string& model, int batch, const char* precision) {
  const YamlDocument document = YamlDocument::from_text(
      fmt::format(
          "name: x\ncluster: dgx_a100 x 1\nsteps: 2\nworkload: {{ model: {{ name: m, source: drawn, {} }}, "
          "global_batch: {}, precision: {} }}\n",
          model, batch, precision),
      "drawn.yaml");
  return predict(build(document, ConfigPath::standard()), nullptr, EngineMode::Bare)
      .mean_step()
      .in_base_units();
}

// A narrower model never takes longer, as long as its widths stay multiples of a tile.
TEST(Pruning, MoreOfADlrmsMlpNeverTakesMoreTime) {
  rc::check([] {
    const auto tiles = *rc::gen::inRange<std::int64_t>(4, 17);
    const auto tables = *rc::gen::inRange(2, 9);
    const auto step_with = [&](double share) {
      const std::int64_t width = kept_width(128 * tiles, share, 128);
      return step_of(
          fmt::format("dlrm: {{ bottom_mlp: [13, 512, 64], top_mlp: [{0}, {0}, 1], tables: [{{ rows: "
                      "[100000], count: {1}, dimension: 64 }}] }}",
                      width, 8 * tables),
          32768, "fp32");
    };
    const double half = step_with(0.5);
    RC_ASSERT(half <= step_with(1) * kOverlap);
    RC_ASSERT(step_with(0.25) <= half * kOverlap);
  });
}

TEST(Pruning, MoreOfAGptsLayersAndFeedForwardsNeverTakesMoreTime) {
  rc::check([] {
    const auto heads = *rc::gen::inRange<std::int64_t>(8, 25);
    const auto layers = *rc::gen::inRange<std::int64_t>(2, 5);
    const auto step_with = [&](double depth, double width) {
      return step_of(
          fmt::format("transformer: {{ family: gpt, implementation: megatron, layers: {}, hidden: {}, heads: "
                      "{}, feed_forward: {}, vocabulary: 51200, positions: 1024, sequence: 1024 }}",
                      kept_width(2 * layers, depth, 1), 64 * heads, heads,
                      kept_width(1024 * heads, width, 256)),
          32, "bf16");
    };
    const double full = step_with(1, 1), half = step_with(1, 0.5);
    RC_ASSERT(step_with(0.5, 1) <= full * kOverlap);
    RC_ASSERT(half <= full * kOverlap);
    RC_ASSERT(step_with(1, 0.25) <= half * kOverlap);
  });
}

}  // namespace
}  // namespace lockstep
