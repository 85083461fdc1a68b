#include "app/commands/calibrate_collectives.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <set>
#include <stdexcept>

#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/collective_fit_text.hpp"
#include "calibration/collectives/fitted_profile.hpp"
#include "calibration/collectives/nccl_tests_log.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/residual_plot.hpp"
#include "topology/peer_access.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

/// One line a log, to stderr: what was used and what was not.
void report(const std::filesystem::path& file, const NcclTestsReport& found) {
  std::string text = fmt::format("{}: {} measurements", file.string(), found.used);
  for (const auto& [count, what] :
       {std::pair{found.without_size, "of 0 bytes left out"},
        std::pair{found.broken, "broken lines left out"},
        std::pair{found.wrong, "with wrong results (#wrong) left out"},
        std::pair{found.not_modelled, "of collectives without a model left out"}}) {
    text += count > 0 ? fmt::format(", {} {}", count, what) : std::string{};
  }
  fmt::print(stderr, "{}\n", text);
}

/// Tables of `calibrate import` and logs of nccl-tests, told apart by their first line.
CollectiveMeasurements read_measurements(const std::vector<std::filesystem::path>& files,
                                         const std::string& collective) {
  std::vector<std::filesystem::path> tables;
  CollectiveMeasurements logs;
  for (const auto& file : files) {
    if (file.extension() == ".csv") {
      tables.push_back(file);
    } else {
      report(file, NcclTestsLog{collective}.read(file, logs));
    }
  }
  CollectiveMeasurements all = read_collective_csv(tables);
  if (all.left_out > 0) {
    fmt::print(stderr, "{} rows in place, or of collectives without a model, left out\n", all.left_out);
  }
  for (CollectiveMeasurement row : logs.rows) {
    row.run += all.runs.size();
    all.rows.push_back(row);
  }
  all.runs.insert(all.runs.end(), logs.runs.begin(), logs.runs.end());
  return all;
}

/// Where the collectives ran, as NCCL took it.
Fabric machine_of(const CalibrateFitOptions& options, const ConfigPath& configs) {
  const Fabric drawn = read_cluster(options.cluster).fabric();
  PeerAccess access{access_of_models(drawn, configs), {}, 0};
  if (!options.p2p_level.empty()) {
    access.level.p2p = p2p_level_of(options.p2p_level);
  }
  if (!options.net_gdr_level.empty()) {
    access.level.net_gdr = p2p_level_of(options.net_gdr_level);
  }
  return with_peer_access(drawn, access);
}

/// Nothing is written over what is read, or over another output.
void keep_files(const CalibrateFitOptions& options) {
  std::set<std::filesystem::path> outputs;
  for (const std::string& output : {options.output, options.residuals, options.plot}) {
    keep_inputs(output, options.files);
    if (!output.empty() && !outputs.insert(std::filesystem::absolute(output).lexically_normal()).second) {
      throw InputError{{output}, "is given for two outputs"};
    }
  }
}

/// A fit that misses what it did not see is of another machine, or of wrong numbers.
void warn_of_misfit(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  constexpr double kUsable = 0.25;
  const std::vector<double> held_out = held_out_errors(measurements, fit);
  if (!held_out.empty() && summarise(held_out).mean > kUsable) {
    spdlog::warn(
        "held-out rows are missed by {:.0f} % on average: no profile explains these times on this --cluster; "
        "are the cluster, --start, units and groups right?",
        100 * summarise(held_out).mean);
  }
}

}  // namespace

int calibrate_import_command(const CalibrateImportOptions& options) {
  keep_inputs(options.output, options.logs);
  CollectiveMeasurements measurements;
  for (const auto& log : options.logs) {
    report(log, NcclTestsLog{options.collective}.read(log, measurements));
  }
  if (options.output.empty()) {
    fmt::print("{}", collective_csv(measurements));
  } else {
    write_whole_file(options.output, collective_csv(measurements));
  }
  return 0;
}

int calibrate_fit_command(const CalibrateFitOptions& options) {
  const ConfigPath configs = ConfigPath::standard();
  const std::filesystem::path start =
      is_path(options.start) ? std::filesystem::path{options.start} : configs.find("profiles", options.start);
  keep_files(options);
  const CollectiveMeasurements measurements = read_measurements(options.files, options.collective);
  const Fabric fabric = machine_of(options, configs);
  const CollectiveFit fit = fit_collectives(
      measurements, fabric, read_file<CollectiveProfile>(start, configs),
      {options.held_out_every, {options.held_out_groups.begin(), options.held_out_groups.end()}});
  warn_of_misfit(measurements, fit);
  std::string files;
  for (const auto& file : options.files) {
    files += (files.empty() ? "" : ", ") + file.filename().string();
  }
  const std::string name =
      options.name.empty() ? std::filesystem::path{options.output}.stem().string() : options.name;
  write_whole_file(options.output,
                   fitted_profile_yaml(measurements, fit, {name, files, options.cluster, start}));
  if (!options.residuals.empty()) {
    write_whole_file(options.residuals, collective_residuals_csv(measurements, fit));
  }
  if (!options.plot.empty()) {
    write_whole_file(options.plot, to_svg(residuals_of(measurements, fit)));
  }
  fmt::print("{}\nwritten: {}; use it with   collectives: {{ profile: {} }}\n",
             collective_fit_text(measurements, fit), options.output, options.output);
  return 0;
}

}  // namespace lockstep
