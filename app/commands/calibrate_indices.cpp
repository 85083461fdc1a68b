#include "app/commands/calibrate_indices.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/indices/index_fit.hpp"
#include "sim/log.hpp"
#include "traces/unpacked.hpp"

namespace lockstep {
namespace {

struct IndicesOptions {
  std::filesystem::path file;
  double rows = 0;
};

constexpr std::size_t kParameters = 3;    // of the model
constexpr std::size_t kHeldOutEvery = 3;  // of the parts: the fit has the 1st, 4th, ..., and the whole

bool is_fitted(std::size_t point, std::size_t points) {
  return point % kHeldOutEvery == 0 || point + 1 == points;
}

}  // namespace

int calibrate_indices_command(const std::filesystem::path& file, double rows) {
  if (!(rows >= 1 && std::isfinite(rows))) {
    throw std::invalid_argument{fmt::format("--rows {}: a table has 1 row or more", rows)};
  }
  const auto points =
      distinct_rows_of_parts(unpacked(read_whole_file(file), file.string()), file.string(), rows);
  std::vector<DistinctRows> fitted;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_fitted(i, points.size())) fitted.push_back(points[i]);
  }
  if (fitted.size() < kParameters) {
    throw InputError{{file.string()},
                     "too few bags to fit three parameters to parts of them: a line for each of 64 samples, "
                     "better thousands"};
  }
  const IndexFit fit = fit_index_model(fitted, rows);
  const IndexModel& model = fit.model;
  std::vector<double> held_out;
  fmt::print("{:>14}{:>16}{:>16}{:>9}\n", "lookups", "different rows", "model", "error, %");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double predicted = distinct_rows(model, points[i].lookups);
    const double error = predicted / points[i].distinct - 1;
    if (!is_fitted(i, points.size())) held_out.push_back(error);
    constexpr int kWidth = 9;
    fmt::print("{:14.0f}{:16.0f}{:16.0f}{}  {}\n", points[i].lookups, points[i].distinct, predicted,
               percent_cell(error, kWidth, true), is_fitted(i, points.size()) ? "" : "held out");
  }
  if (fit.is_even) fmt::print("\nas all {:.0f} rows would give if they were equally popular\n", rows);
  fmt::print(
      "\nfor the table in the model's file:   index_skew: {:.3g}, active_rows: {:.3g}, "
      "index_duplication: {:.3g}\n",
      model.skew, model.rows / rows, model.duplication);
  for (const std::string& doubt : index_doubts(fit, points, held_out))
    log_of(LogComponent::App).warn("{}", doubt);
  return 0;
}

void add_calibrate_indices(CLI::App& calibrate, std::function<int()>& action) {
  const auto options = std::make_shared<IndicesOptions>();
  CLI::App* command =
      calibrate.add_subcommand("indices", "how popular the rows of an embedding table are, from its indices");
  command->footer(
      "examples:\n"
      "  lockstep calibrate indices table_7.txt --rows 1000000     a line a bag: row numbers between blanks");
  command->add_option("FILE", options->file, "the indices of one batch, plain or gzip")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--rows", options->rows, "rows of the table")->required()->check(CLI::PositiveNumber);
  command->callback([options, &action] {
    action = [options] { return calibrate_indices_command(options->file, options->rows); };
  });
}

}  // namespace lockstep
