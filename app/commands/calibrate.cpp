#include "app/commands/calibrate.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>

#include "app/commands/calibrate_host.hpp"
#include "app/commands/calibrate_indices.hpp"
#include "app/commands/calibrate_kernels.hpp"
#include "app/commands/calibrate_show.hpp"
#include "app/traced_kernels.hpp"
#include "base/effective.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/collective_fit_text.hpp"
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

/// The evidence for a number that was fitted: its error is that of the held-out rows of at least 64 KiB that
/// are predicted with it, of all of them where none is.
Evidence evidence_of(const FittedNumber& number, const std::string& source,
                     const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::vector<double> held_out = held_out_errors(measurements, fit, &number);
  const bool depends = !held_out.empty();
  if (!depends) {
    held_out = held_out_errors(measurements, fit);
  }
  Evidence evidence{Provenance::Fitted, source, std::nullopt, {}};
  if (!held_out.empty()) {
    evidence.error = summarise(held_out).mean;
    evidence.range = fmt::format("from 64 KiB, {} held-out rows{}", held_out.size(),
                                 depends ? " that depend on it" : ", none of which depends on it");
  }
  return evidence;
}

/// Numbers that moved rest on the fit. The others are those of another machine, as far as anyone knows.
ProvenanceTable provenance_of_fit(ProvenanceTable start, const std::string& start_name,
                                  const CollectiveFit& fit, const CollectiveMeasurements& measurements,
                                  const std::string& source) {
  for (auto& [key, of_start] : start) {
    if (is_own(of_start.is)) {
      of_start = {Provenance::Derived, start_name + "'s: " + of_start.source, std::nullopt, {}};
    }
  }
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      start[number.key] = evidence_of(number, source, measurements, fit);
    }
  }
  return start;
}

/// The start profile's file with the numbers that moved in their places; remarks say which.
std::string profile_text(const CalibrateFitOptions& options, const std::filesystem::path& start,
                         const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  YamlDocument document = YamlDocument::from_file(start);
  const auto set = [&](const std::string& key, const std::string& value) {
    document.set(key, yaml_node(YamlNode::Kind::Scalar, {"fitted"}, value));
  };
  std::string files;
  for (const auto& file : options.files) {
    files += (files.empty() ? "" : ", ") + file.filename().string();
  }
  set("name", options.name);
  set("source",
      fmt::format("Fitted by lockstep calibrate to {} on {}; what no measurement depends on is that of "
                  "{}.",
                  files, options.cluster, start.filename().string()));
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      set(number.key, number.after);
    }
  }
  document.set("provenance", yaml_of(provenance_of_fit(
                                 fit.profile.provenance, start.stem().string(), fit, measurements,
                                 fmt::format("lockstep calibrate fit to {} on {}", files, options.cluster))));
  return effective_text<CollectiveProfile>(document);
}

/// What import and fit both take.
template <class Options, class Files>
void add_inputs(CLI::App& command, Options& options, Files& files, const char* what) {
  command.add_option("FILES", files, what)->required()->check(CLI::ExistingFile);
  command
      .add_option("--collective", options.collective,
                  "which collective logs are of that do not say it, e.g. all_reduce")
      ->check(CLI::IsMember({"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce",
                             "sendrecv", "gather", "scatter", "hypercube"}));
}

void add_import(CLI::App& calibrate, std::function<int()>& action) {
  const auto options = std::make_shared<CalibrateImportOptions>();
  const auto kernels = std::make_shared<KernelImportOptions>();
  CLI::App* command = calibrate.add_subcommand(
      "import", "turn logs of nccl-tests, or tables and traces of kernels, into one table");
  command->footer(
      "examples:\n"
      "  lockstep calibrate import all_reduce.log alltoall.log -o mine.csv\n"
      "  lockstep calibrate import h100/gemm.csv h100/normalisation.csv --gpu h100_80gb_boost -o "
      "kernels.csv");
  add_inputs(
      *command, *options, options->logs,
      "outputs of nccl-tests; with --gpu tables of kernels (lockstep-measure, NeuSight, vidur) or traces of "
      "PyTorch's profiler with shapes (Kineto)");
  add_kernel_import_options(*command, *kernels);
  command->add_option("-o,--output", options->output, "the table (default: stdout)");
  command->callback([options, kernels, &action] {
    action = [options, kernels] {
      if (kernels->gpu.empty() && (!kernels->device.empty() || kernels->shortest > Seconds{0})) {
        throw std::invalid_argument{"--device and --shortest are of tables of kernels, with --gpu"};
      }
      for (const auto& file : options->logs) {
        if (kernels->gpu.empty() && is_trace_name(file)) {
          throw InputError{{file.string()},
                           "is a trace by its name: its kernels want --gpu NAME, its host's overheads are "
                           "lockstep calibrate host's"};
        }
      }
      return kernels->gpu.empty() ? calibrate_import_command(*options)
                                  : import_kernels_command(options->logs, *kernels, options->output);
    };
  });
}

/// What says where collectives ran, of kernels.
void refuse_collective_options(const CalibrateFitOptions& options) {
  for (const auto& [name, is_given] :
       {std::pair{"--cluster", !options.cluster.empty()}, std::pair{"--start", !options.start.empty()},
        std::pair{"--hold-out-gpus", !options.held_out_groups.empty()},
        std::pair{"--p2p-level", !options.p2p_level.empty()},
        std::pair{"--net-gdr-level", !options.net_gdr_level.empty()}}) {
    if (is_given) {
      throw std::invalid_argument{fmt::format("{} is of collectives; {} is a table of kernels", name,
                                              options.files.front().string())};
    }
  }
}

void add_fit(CLI::App& calibrate, std::function<int()>& action) {
  const auto options = std::make_shared<CalibrateFitOptions>();
  const auto kernels = std::make_shared<FitKernelsOptions>();
  CLI::App* command =
      calibrate.add_subcommand("fit", "fit a collective profile, or networks for kernels, to measurements");
  command->footer(
      "examples:\n"
      "  lockstep calibrate fit all_reduce.log alltoall.log --cluster dgx_a100 --start dgx_a100 -o "
      "mine.yaml\n"
      "  lockstep calibrate fit mine.csv --cluster 'dgx_h100 x 2' --start dgx_h100 --hold-out-gpus 4 -o "
      "mine.yaml\n"
      "  lockstep calibrate fit kernels.csv --test other_gpu.csv -o learned.yaml\n"
      "  lockstep calibrate fit kernels.csv --constants -o my_efficiency.yaml");
  add_inputs(*command, *options, options->files,
             "tables of calibrate import (.csv), or outputs of nccl-tests");
  command->add_option("--cluster", options->cluster,
                      "where collectives ran, e.g. dgx_a100, 'dgx_a100 x 4', a file");
  command->add_option("--start", options->start,
                      "the collective profile to start from: a name of lockstep list profiles, or a file");
  command->add_option("--name", options->name, "of the new profile (default: its file's)");
  command->add_option("-o,--output", options->output, "the profile or the networks, as YAML")->required();
  command->add_option("--residuals", options->residuals, "write every row with its prediction, as CSV");
  command->add_option("--plot", options->plot, "draw predicted / measured of every row, as SVG");
  command
      ->add_option("--hold-out-every", options->held_out_every,
                   "of each curve's sizes, keep each so-manieth from the fit; 0: none")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--hold-out-gpus", options->held_out_groups,
                      "keep all groups with so many GPUs from the fit, e.g. 3 5 6 7");
  command->add_option("--p2p-level", options->p2p_level,
                      "NCCL_P2P_LEVEL of the runs (LOC: NCCL_P2P_DISABLE); default: NCCL's own rule");
  command->add_option("--net-gdr-level", options->net_gdr_level,
                      "NCCL_NET_GDR_LEVEL of the runs (LOC: no GPUDirect RDMA); default: NCCL's own rule");
  add_fit_kernels_options(*command, *kernels);
  command->callback([options, kernels, &action] {
    bool fits_kernels = false;
    try {
      fits_kernels = is_kernel_csv(options->files.front());
    } catch (const InputError&) {  // told as any command tells it
      action = [problem = std::current_exception()]() -> int { std::rethrow_exception(problem); };
      return;
    }
    if (fits_kernels) {
      action = [options, kernels] {
        refuse_collective_options(*options);
        kernels->residuals = options->residuals;
        kernels->plot = options->plot;
        return fit_kernels_command(options->files, options->name, options->output, *kernels);
      };
      return;
    }
    if (options->cluster.empty()) throw CLI::RequiredError("--cluster");
    if (options->start.empty()) throw CLI::RequiredError("--start");
    action = [options] { return calibrate_fit_command(*options); };
  });
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
  CalibrateFitOptions named = options;
  if (named.name.empty()) {
    named.name = std::filesystem::path{options.output}.stem().string();
  }
  write_whole_file(options.output, profile_text(named, start, measurements, fit));
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

void add_calibrate_command(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("calibrate", "turn measurements of your machine into a profile");
  command->require_subcommand(1);
  command->footer(
      "examples:\n"
      "  lockstep calibrate import all_reduce.log -o mine.csv          logs of nccl-tests as a table\n"
      "  lockstep calibrate fit mine.csv --cluster dgx_a100 --start dgx_a100 -o mine.yaml\n"
      "  lockstep calibrate import h100/gemm.csv --gpu h100_80gb_boost -o kernels.csv    measured kernels as "
      "a "
      "table\n"
      "  lockstep calibrate fit kernels.csv -o learned.yaml                        networks for them\n"
      "  lockstep calibrate host traces/ -o my_host.yaml               a host's overheads from its profiles\n"
      "  lockstep calibrate show mine.yaml                             what a profile covers and how well\n"
      "  lockstep calibrate fit --help");
  add_import(*command, action);
  add_fit(*command, action);
  add_calibrate_show(*command, action);
  add_calibrate_indices(*command, action);
  add_calibrate_host(*command, action);
}

}  // namespace lockstep
