// The 58 expected values of TorchRec's own tests of its estimator.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "calibration/csv_table.hpp"
#include "search/torchrec/estimator.hpp"

namespace lockstep::torchrec {
namespace {

const std::filesystem::path kFile =
    LOCKSTEP_SOURCE_DIR "/../shared/data/embedding/production_plan/planner_golden_1table.csv";

template <class Enum>
Enum called(const std::string& name) {
  for (const auto& [value, known] : names_of(Enum{})) {
    if (name == known) return value;
  }
  throw std::invalid_argument{name};
}

TEST(TorchRecEstimator, GivesItsExpectedValues) {
  if (!std::filesystem::exists(kFile)) GTEST_SKIP() << "no " << kFile.lexically_normal();
  const CsvTable golden = CsvTable::from_file(kFile);
  double worst = 0;
  std::size_t rows = 0;
  for (std::size_t row = 0; row < golden.rows(); ++row, ++rows) {
    const TableConfig table{
        .rows = 100, .columns = 10, .pooling_factor = 1, .is_weighted = golden.cell(row, "weighted") == "1"};
    const auto sharding = called<Sharding>(golden.cell(row, "sharding"));
    const bool halves =
        sharding == Sharding::RowWise || sharding == Sharding::TableRowWise || sharding == Sharding::Grid;
    const Perf perf = perf_of(table, {halves ? 50 : 100, 10}, sharding,
                              called<Kernel>(golden.cell(row, "kernel")), Topology{});
    const auto compare = [&](const std::string& column, Seconds ours) {
      const double expected = golden.number(row, column);
      const double error = std::abs(ours / Seconds{1e-3} - expected) / std::max(expected, 1e-30);
      worst = std::max(worst, error);
      EXPECT_LE(error, 1e-6) << "row " << row << " " << column;
    };
    compare("fwd_compute", perf.forward_compute);
    compare("fwd_comms", perf.forward_communication);
    compare("bwd_compute", perf.backward_compute);
    compare("bwd_comms", perf.backward_communication);
    compare("input_dist", input_distribution(table, sharding, Topology{}));
  }
  fmt::print("{} rows, largest relative difference {:.1e}\n", rows, worst);
  EXPECT_GE(rows, 44U);
}

}  // namespace
}  // namespace lockstep::torchrec
