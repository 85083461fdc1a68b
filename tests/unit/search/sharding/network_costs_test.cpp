#include "search/sharding/network_costs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/small_networks.hpp"

namespace lockstep::sharding {
namespace {

using lockstep::testing::repeated;
using lockstep::testing::small_networks;

NetworkCosts read(const std::string& text) {
  const test::ScratchFolder folder;
  write_whole_file(folder.path() / "nets.txt", text);
  return NetworkCosts::from_file(folder.path() / "nets.txt");
}

Table table_with(double third_bin) {
  Table table{.shape = {.rows = 100, .dimension = 8, .pooling_factor = 1}, .reuse = {}};
  table.reuse[2] = third_bin;
  return table;
}

TEST(NetworkCosts, AreThoseOfTheirLayers) {
  const NetworkCosts costs = read(small_networks());
  EXPECT_EQ(costs.devices(), 2U);
  // dimension 8 is (8 - 4) / 2 = 2: trunk 2 (0.5 + 20) = 41; two of them and one with ReLU(0.5 - 20) = 0
  Load load = costs.load_of(table_with(0.5), 8, 0);
  EXPECT_NEAR(costs.compute(load) / Seconds{1e-3}, 42, 1e-5);
  load.add(costs.load_of(table_with(0.5), 8, 0));
  load.add(costs.load_of(table_with(0.5), 0, 0));
  EXPECT_NEAR(costs.compute(load) / Seconds{1e-3}, 83, 1e-5);
}

TEST(NetworkCosts, ForwardExchangeKnowsWhoStartsLate) {
  const NetworkCosts costs = read(small_networks());
  const std::array compute{Seconds{5e-3}, Seconds{2e-3}};
  const std::array widths{100.0, 200.0};
  const Estimate estimate = costs.estimate(compute, widths, {});
  // Backward 10 and 20 ms: starts 15 and 22, less the first 0 and 7; forward 1 + 7 and 2 + 0.
  EXPECT_NEAR(estimate.communication[0] / Seconds{1e-3}, 18, 1e-5);
  EXPECT_NEAR(estimate.communication[1] / Seconds{1e-3}, 22, 1e-5);
  EXPECT_NEAR(estimate.total / Seconds{1e-3}, 24, 1e-5);
}

std::string complaint_about(const std::string& text) {
  try {
    (void)read(text);
  } catch (const InputError& problem) {
    return problem.problems().front().message;
  }
  return "nothing";
}

/// Zeros, but deviations of 1: 20 features, @p sums numbers of a table, their time; exchanges of one device.
std::string networks_that_sum(int sums) {
  const std::string row = repeated("0", sums), wide = std::to_string(sums);
  std::string text = "20 3\n" + repeated("0", 20) + repeated("1", 20);
  text += "1 20\n" + repeated("0", 20) + "0\n" + wide + " 1\n" + row + row + "1 " + wide + "\n" + row + "0\n";
  return text + "2 1\n0 0\n1 1\n1 2\n0 0\n0\n" + "1 1\n0\n1\n1 1\n0\n0\n";
}

TEST(NetworkCosts, ComplainsOfFilesThatAreNone) {
  EXPECT_NE(complaint_about("20 4 1 2").find("the file ends early"), std::string::npos);
  EXPECT_NE(complaint_about("hello").find("no number"), std::string::npos);
  EXPECT_NE(complaint_about("2 1\n0 0\n1 0\n").find("a deviation is above 0"), std::string::npos);
  EXPECT_NE(complaint_about("1 1\n0\n1\n1 2\n").find("a layer that takes 1 numbers"), std::string::npos);
  EXPECT_NE(complaint_about("2.5 1").find("2.5 is no number of inputs"), std::string::npos);
  EXPECT_NE(complaint_about(networks_that_sum(33)).find("at most 32 numbers of a table"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::sharding
