// The plan of 1,935 production tables on 96 ranks against Lockstep's search, under Lockstep's fast models.
//
//   production_plan TABLES.csv [EFFORT]
//
// Machine: 12 nodes of 8 H100. Row-wise tables stay as they are in both plans. A rank may hold as much as the
// fullest rank of the given plan.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/yaml_reader.hpp"
#include "calibration/csv_table.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/model_costs.hpp"
#include "topology/cluster_spec.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::sharding;

constexpr std::int64_t kSamples = 2560;  // a rank
constexpr std::size_t kRanks = 96;

struct Given {
  Task task;
  Plan plan;
};

Given read_given(const std::string& file) {
  const CsvTable table = CsvTable::from_file(file);
  Given given;
  given.task.batch = kSamples * static_cast<std::int64_t>(kRanks);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, "sharding") != "CW") {
      continue;
    }
    const auto number = static_cast<std::uint32_t>(given.task.tables.size());
    Table& tables = given.task.tables.emplace_back();
    tables.shape = {.rows = static_cast<std::int64_t>(table.number(row, "rows")),
                    .dimension = static_cast<std::int64_t>(table.number(row, "emb_dim")),
                    .pooling_factor = table.number(row, "sum_pooling_factor")};
    const auto width = static_cast<std::int64_t>(table.number(row, "cw_dim"));
    std::istringstream ranks{table.cell(row, "ranks")};
    for (std::string rank; std::getline(ranks, rank, ',');) {
      given.plan.pieces.push_back({number, width, static_cast<std::uint32_t>(std::stoul(rank))});
    }
  }
  given.task.capacity.assign(kRanks, Bytes{0});
  const std::vector<Bytes> memory = memory_of(given.plan, given.task);
  given.task.capacity.assign(kRanks, *std::ranges::max_element(memory));
  return given;
}

struct Machine {
  Named<ClusterSpec> cluster;
  Named<GpuSpec> gpu;
  Named<CollectiveProfile> profile;

  template <class Visitor>
  static void describe(Visitor& key, Machine& machine) {
    key.required("cluster", machine.cluster, "where the ranks are");
    key.required("gpu", machine.gpu, "what they are");
    key.required("profile", machine.profile, "how they communicate");
  }
};

/// The largest time of a device over the mean.
double imbalance(const std::vector<Seconds>& times) {
  Seconds most, sum;
  for (const Seconds time : times) {
    most = std::max(most, time);
    sum += time;
  }
  return most / sum * static_cast<double>(times.size());
}

void print(const char* name, CachedCostModel& cost_model, const Plan& plan) {
  const Estimate estimate = cost_model.estimate(plan);
  const std::vector<Bytes> memory = memory_of(plan, cost_model.task());
  fmt::print(
      "{:<10} {} (slowest rank's lookups {}, {:.3f} of the mean; exchanges {}); {} pieces, fullest rank {}, "
      "{}\n",
      name, estimate.total, *std::ranges::max_element(estimate.compute), imbalance(estimate.compute),
      estimate.communication.front(), plan.pieces.size(), *std::ranges::max_element(memory),
      is_valid(plan, cost_model.task()) ? "fits" : "DOES NOT FIT");
}

void compare(const Given& given, const CostModel& costs, std::int64_t effort) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CachedCostModel cost_model{given.task, costs};
  print("given", cost_model, given.plan);
  SearchOptions search;
  search.effort = effort;
  search.stopped = [&] { return seconds() > 25; };
  if (const auto plan = lockstep_search(cost_model, search)) {
    print("lockstep", cost_model, *plan);
  }
  fmt::print("           after {:.1f} s, {} questions\n", seconds(), cost_model.questions());
}

int run(const std::string& file, std::int64_t effort) {
  const Given given = read_given(file);
  const ConfigPath configs = ConfigPath::standard();
  const auto machine =
      read_text<Machine>("{cluster: dgx_h100 x 12, gpu: h100_80gb, profile: dgx_h100}", "machine", configs);
  const Fabric fabric = machine.cluster->fabric();
  CollectiveOptions options;
  options.profile = *machine.profile;
  const CollectivePlanner planner{fabric, options};
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const ExchangeCosts forward{planner, fabric, fabric.gpus(), Bytes{4.0 * kSamples}, false};
  const ExchangeCosts backward{planner, fabric, fabric.gpus(), Bytes{4.0 * kSamples}, true};
  fmt::print("{} column-wise tables on {} ranks; models ready after {:.1f} s\n", given.task.tables.size(),
             kRanks, seconds());
  const ModelCosts costs{{.gpus = {*machine.gpu},
                          .optimizer = Optimizer::RowWiseAdagrad,
                          .batch = given.task.batch,
                          .rows = 1e9},
                         forward,
                         backward};
  compare(given, costs, effort);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "production_plan TABLES.csv [EFFORT]\n");
    return 2;
  }
  try {
    return run(arguments[1], count > 2 ? std::strtol(arguments[2], nullptr, 10) : 1'000'000);
  } catch (const InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
}
