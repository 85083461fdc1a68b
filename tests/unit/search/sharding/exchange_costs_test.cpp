#include "search/sharding/exchange_costs.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep::sharding {
namespace {

struct Machine {
  Named<ClusterSpec> cluster;
  Named<CollectiveProfile> profile;

  template <class Visitor>
  static void describe(Visitor& key, Machine& machine) {
    key.required("cluster", machine.cluster, "the machine");
    key.required("profile", machine.profile, "its class");
  }
};

constexpr Bytes kSample{4.0 * 8192};

/// The planner's time of an all-to-all in which rank i holds @p widths[i].
Seconds planned(const CollectivePlanner& planner, const Fabric& fabric, const std::vector<double>& widths,
                bool backward) {
  const std::size_t n = widths.size();
  CollectiveRequest request{
      .kind = CollectiveKind::AllToAll, .type = DataType::FP32, .size = {}, .bytes = {}};
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      request.bytes.push_back(widths[backward ? to : from] * (kSample / Bytes{1}));
    }
  }
  request.size =
      Bytes{std::accumulate(request.bytes.begin(), request.bytes.end(), 0.0) / static_cast<double>(n)};
  return time_alone(planner.plan(request, fabric.gpus()), fabric);
}

class ExchangeOn : public ::testing::TestWithParam<const char*> {};

TEST_P(ExchangeOn, TakesWhatThePlannerSays) {
  const auto machine = read_text<Machine>(GetParam(), "machine");
  const Fabric fabric = machine.cluster->fabric();
  CollectiveOptions options;
  options.profile = *machine.profile;
  const CollectivePlanner planner{fabric, options};
  const Random random{1, "widths"};
  for (const bool backward : {false, true}) {
    const ExchangeCosts costs{planner, fabric, fabric.gpus(), kSample, backward};
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      std::vector<double> widths;
      double sum = 0;
      for (std::uint64_t rank = 0; rank < fabric.gpus().size(); ++rank) {
        widths.push_back(64 + 512 * random.of(draw).uniform(rank));
        sum += widths.back();
      }
      const double ratio = costs(widths) / planned(planner, fabric, widths, backward);
      EXPECT_NEAR(ratio, 1, 0.05) << (backward ? "backward " : "forward ") << draw;
      EXPECT_LE(costs.at_least(sum), costs(widths));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ExchangeOn,
                         ::testing::Values("{cluster: dgx1v x 1, profile: dgx1v}",
                                           "{cluster: dgx_a100 x 1, profile: dgx_a100}",
                                           "{cluster: dgx_h100 x 2, profile: dgx_h100}"));

TEST(ExchangeCosts, AreNothingForOneRank) {
  const auto machine = read_text<Machine>("{cluster: dgx1v x 1, profile: dgx1v}", "machine");
  const Fabric fabric = machine.cluster->fabric();
  const CollectivePlanner planner{fabric, {}};
  const ExchangeCosts costs{planner, fabric, fabric.gpus().first(1), kSample, false};
  EXPECT_EQ(costs(std::vector<double>{100}), Seconds{0});
}

}  // namespace
}  // namespace lockstep::sharding
