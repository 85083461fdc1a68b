#include "app/commands/calibrate_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "app/notes.hpp"
#include "app/result_folder.hpp"
#include "app/set_in_words.hpp"
#include "base/citation.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/collective_fit_text.hpp"
#include "calibration/collectives/fit_doubts.hpp"
#include "calibration/collectives/fitted_profile.hpp"
#include "calibration/collectives/group_errors.hpp"
#include "calibration/collectives/nccl_tests_log.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/kernels/gpu_model_names.hpp"
#include "calibration/residual_plot.hpp"
#include "ops/gpu/gpu_access.hpp"
#include "scenario/machine_defaults.hpp"
#include "sim/log.hpp"
#include "topology/peer_access.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

bool is_csv(const std::filesystem::path& file) {
  return file.extension() == ".csv" || (file.extension() == ".gz" && file.stem().extension() == ".csv");
}

/// The measurements of all files, and the files that hold some of them.
struct MeasuredFiles {
  CollectiveMeasurements measurements;
  std::vector<std::filesystem::path> used;
  std::map<std::string, std::set<std::string>> devices;  ///< GPUs by their own names, by log
};

void append(const CollectiveMeasurements& more, CollectiveMeasurements& all) {
  const std::size_t runs = all.runs.size();
  for (CollectiveMeasurement row : more.rows) {
    row.run += runs;
    all.rows.push_back(row);
  }
  all.runs.insert(all.runs.end(), more.runs.begin(), more.runs.end());
}

/// Tables of `calibrate import` and logs of nccl-tests, told apart by their names; what was used and what was
/// not is told on stderr.
MeasuredFiles read_measurements(const std::vector<std::filesystem::path>& files,
                                const std::string& collective) {
  refuse_twice(files);
  if (!collective.empty() && std::ranges::all_of(files, is_csv)) {
    throw std::invalid_argument{fmt::format(
        "--collective {} does not apply to tables, which say it in each row; what it is for: logs "
        "that do not",
        collective)};
  }
  MeasuredFiles found;
  std::vector<Problem> without;
  std::string report;
  const std::vector<std::string> names = told_apart(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CollectiveMeasurements of_file;
    std::string left_out;
    if (is_csv(files[i])) {
      of_file = read_collective_csv({files[i]});
      left_out = of_file.left_out > 0
                     ? fmt::format("{} rows in place, or of collectives without a model", of_file.left_out)
                     : std::string{};
    } else {
      const NcclTestsReport read = NcclTestsLog{collective}.read(files[i], of_file, names[i]);
      found.devices[names[i]] = read.devices;
      left_out = left_out_in_words(read);
    }
    report += fmt::format("{}: {} measurements{}\n", files[i].string(), of_file.rows.size(),
                          left_out.empty() ? "" : "; left out: " + left_out);
    append(of_file, found.measurements);
    if (of_file.rows.empty()) {
      without.push_back(
          {{files[i].string()},
           left_out.empty() ? "no measurement is in it" : "no measurement in it can be used: " + left_out});
    } else {
      found.used.push_back(files[i]);
    }
  }
  if (found.used.empty()) {
    throw InputError{std::move(without)};
  }
  note(report);
  return found;
}

/// The machine where the collectives ran, in NCCL's view.
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

/// The profile to start from: the one that was asked for, else what a run on that machine takes.
/// @throws InputError at --cluster where none belongs to its GPUs
std::string start_of(const CalibrateFitOptions& options, const Fabric& fabric, const ConfigPath& configs) {
  if (!options.start.empty()) {
    return options.start;
  }
  const std::string& model = fabric.vertices()[fabric.gpus().front()].model;
  try {
    return usual_profile(fabric, read_file<GpuSpec>(configs.find("gpus", model), configs));
  } catch (const std::invalid_argument&) {
    throw InputError{{"--cluster"},
                     fmt::format("no collective profile belongs to its GPU '{}': name the one of the machine "
                                 "that is most alike by --start ('lockstep list profiles')",
                                 model)};
  }
}

/// Warns of logs whose GPUs are of another model than the cluster's.
void warn_of_other_gpus(const MeasuredFiles& files, const Fabric& fabric, const std::string& cluster) {
  const GpuModelNames models{ConfigPath::standard().names("gpus")};
  std::set<std::string> meant;
  for (const VertexId gpu : fabric.gpus()) {
    meant.insert(fabric.vertices()[gpu].model);
  }
  for (const auto& [file, devices] : files.devices) {
    for (const std::string& device : devices) {
      if (std::ranges::all_of(meant,
                              [&](const std::string& gpu) { return models.tell_apart(device, gpu); })) {
        log_of(LogComponent::App)
            .warn("{} is of '{}', and --cluster {} has {}: a collective's time is its own machine's", file,
                  device, cluster, fmt::join(meant, ", "));
      }
    }
  }
}

/// No output is written over another, and a picture is what its name says.
void check_names(const CalibrateFitOptions& options) {
  if (!options.plot.empty() && std::filesystem::path{options.plot}.extension() != ".svg") {
    throw InputError{{options.plot}, "--plot draws SVG: end its name in .svg"};
  }
  std::set<std::filesystem::path> outputs;
  for (const std::string& output : {options.output, options.residuals, options.plot}) {
    if (!output.empty() && !outputs.insert(std::filesystem::absolute(output).lexically_normal()).second) {
      throw InputError{{output}, "is given for two outputs"};
    }
  }
}

/// Refuses a fit that moved no number, however well it fits.
/// @param start the profile to start from, as ConfigPath shows it
/// @param name of it, as users say it
void refuse_unmoved(const std::string& start, const std::string& name,
                    const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  if (std::ranges::any_of(fit.numbers, &FittedNumber::moved)) {
    return;
  }
  const std::vector<double> held_out = held_out_errors(measurements, fit);
  const std::string error =
      held_out.empty()
          ? std::string{}
          : fmt::format(" (held-out rows are missed by {:.1f} % on average)", 100 * summarise(held_out).mean);
  throw InputError{
      {start},
      fmt::format(
          "no number of it moved{}: nothing was fitted, and nothing is written. Where it is near enough, "
          "use it as it is: --set collectives.profile={}; else --start from the profile of the machine "
          "that is most alike, whose latencies and rates are above 0 ('lockstep list profiles')",
          error, name)};
}

}  // namespace

int calibrate_import_command(const CalibrateImportOptions& options) {
  const std::string table = collective_csv(read_measurements(options.logs, options.collective).measurements);
  if (options.output.empty()) {
    fmt::print("{}", table);
  } else {
    write_whole_file(options.output, table);
  }
  return 0;
}

int calibrate_fit_command(const CalibrateFitOptions& options) {
  const ConfigPath configs = ConfigPath::standard();
  const Fabric fabric = machine_of(options, configs);
  const std::string start_name = start_of(options, fabric, configs);
  const std::filesystem::path start = configs.find_or_file("profiles", start_name);
  check_names(options);
  const MeasuredFiles files = read_measurements(options.files, options.collective);
  check_outputs({options.output, options.residuals, options.plot});
  const CollectiveMeasurements& measurements = files.measurements;
  warn_of_other_gpus(files, fabric, options.cluster);
  const CollectiveFit fit = fit_collectives(
      measurements, fabric, read_file<CollectiveProfile>(start, configs),
      {options.held_out_every, {options.held_out_groups.begin(), options.held_out_groups.end()}});
  for (const std::string& doubt : fit_doubts(measurements, fit)) {
    log_of(LogComponent::App).warn(doubt);
  }
  refuse_unmoved(configs.shown(start.string()), start_name, measurements, fit);
  const std::string name =
      options.name.empty() ? std::filesystem::path{options.output}.stem().string() : options.name;
  std::vector<FileToWrite> outputs;
  if (!options.residuals.empty()) {
    outputs.push_back({options.residuals, collective_residuals_csv(measurements, fit)});
  }
  if (!options.plot.empty()) {
    outputs.push_back({options.plot, to_svg(residuals_of(measurements, fit))});
  }
  outputs.push_back(  // last: it is what the others are about
      {options.output,
       fitted_profile_yaml(measurements, fit, {name, cited(files.used), options.cluster, start})});
  fmt::print("start: {}{}\n\n{}\n", start_name,
             options.start.empty() ? ", which a run on that cluster takes; --start names another" : "",
             collective_fit_text(measurements, fit));
  write_whole_files(outputs);
  fmt::print("written: {}; use it with   {}\n", options.output,
             set_in_words("collectives.profile", options.output));
  return 0;
}

}  // namespace lockstep
