#include "ops/collectives/collective_profile.hpp"

#include <gmock/gmock.h>

#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

struct Scenario {
  Named<CollectiveProfile> collectives;

  template <class Visitor>
  static void describe(Visitor& key, Scenario& scenario) {
    key.required("collectives", scenario.collectives, "what collectives cost");
  }
};

CollectiveProfile read(const std::string& profile) {
  return *read_text<Scenario>("collectives: " + profile, "test.yaml").collectives;
}

std::string complaint_about(const std::string& profile) {
  try {
    (void)read(profile);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CollectiveProfile, TheShippedIdealIsTheOneInCode) {
  const CollectiveProfile shipped = read("ideal");
  const CollectiveProfile built_in = ideal_collective_profile();
  for (const auto& [value, name] : names_of(CommAlgorithm{})) {
    for (const auto& [protocol, protocol_name] : names_of(CommProtocol{})) {
      const auto& read_costs = shipped.of(value).of(protocol);
      const auto& own = built_in.of(value).of(protocol);
      ASSERT_EQ(read_costs.has_value(), own.has_value()) << name << ' ' << protocol_name;
      if (own) {
        EXPECT_EQ(read_costs->base, own->base);
        EXPECT_EQ(read_costs->network, own->network);
        EXPECT_EQ(read_costs->wire_bytes, 1);
        EXPECT_EQ(read_costs->max_bus_bandwidth, own->max_bus_bandwidth);
      }
    }
  }
}

TEST(CollectiveProfile, ShippedOnesAreNamedAsTheirFiles) {
  for (const std::string name : {"dgx1v", "dgx_a100", "dgx_h100", "pcie", "ideal"}) {
    EXPECT_EQ(read(name).name, name);
  }
}

TEST(CollectiveProfile, OnlyHoppersSwitchesAdd) {
  EXPECT_TRUE(read("dgx_h100").nvls.simple.has_value());
  EXPECT_FALSE(read("dgx_a100").nvls.simple.has_value());
}

TEST(CollectiveProfile, SaysWhatCannotBe) {
  EXPECT_THAT(complaint_about("{ from: ideal, link_efficiency: { nvlink: 1.2 } }"),
              HasSubstr("must be greater than 0 and at most 1"));
  EXPECT_THAT(complaint_about(
                  "{ from: ideal, ring: { LL: { base: -1 us, nvlink: 0 us, pcie: 0 us, network: 0 us } } }"),
              HasSubstr("must not be negative"));
  EXPECT_THAT(complaint_about("{ from: ideal, tree: { Simple: ~ } }"),
              HasSubstr("needs at least one of LL, LL128 and Simple"));
}

}  // namespace
}  // namespace lockstep
