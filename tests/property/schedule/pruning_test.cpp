#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include "scenario/prediction.hpp"
#include "schedule/kept_model.hpp"

namespace lockstep {
namespace {

double step_of(const std::string& model) {
  const YamlDocument document = YamlDocument::from_text(
      fmt::format(
          "name: x\ncluster: dgx_a100 x 1\nsteps: 2\nworkload: {{ model: {{ name: m, source: drawn, {} }}, "
          "global_batch: 32768, precision: fp32 }}\n",
          model),
      "drawn.yaml");
  return predict(build(document, ConfigPath::standard()), nullptr, EngineMode::Bare)
      .mean_step()
      .in_base_units();
}

// Where widths stay multiples of a tile, a narrower MLP never takes longer; a thousandth for what overlaps
// otherwise.
TEST(Pruning, MoreOfItNeverTakesMoreTimeAtMultiplesOfTheTile) {
  rc::check([] {
    const auto tiles = *rc::gen::inRange<std::int64_t>(4, 17);
    const auto tables = *rc::gen::inRange(2, 9);
    const auto step_with = [&](double share) {
      const std::int64_t width = kept_width(128 * tiles, share, 128);
      return step_of(
          fmt::format("dlrm: {{ bottom_mlp: [13, 512, 64], top_mlp: [{0}, {0}, 1], tables: [{{ rows: "
                      "[100000], count: {1}, dimension: 64 }}] }}",
                      width, 8 * tables));
    };
    const double full = step_with(1), half = step_with(0.5), quarter = step_with(0.25);
    RC_ASSERT(half <= full * 1.001);
    RC_ASSERT(quarter <= half * 1.001);
  });
}

}  // namespace
}  // namespace lockstep
