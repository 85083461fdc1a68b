#include "app/commands/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/calibrate_collectives.hpp"
#include "app/commands/calibrate_host.hpp"
#include "app/commands/calibrate_indices.hpp"
#include "app/commands/calibrate_kernels.hpp"
#include "app/commands/calibrate_show.hpp"
#include "app/traced_kernels.hpp"
#include "base/error.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {
namespace {

/// @throws std::invalid_argument for an option of @p names that was given, with what it is for
void refuse(const CLI::App& command, std::initializer_list<const char*> names, const std::string& inputs) {
  for (const char* name : names) {
    if (command.count(name) > 0) {
      throw std::invalid_argument{fmt::format("{} does not apply to {}; what it is for: {}", name, inputs,
                                              command.get_option(name)->get_description())};
    }
  }
}

bool is_kernel_table(const std::filesystem::path& file) {
  if (file.extension() == ".gz" && file.stem().extension() == ".csv") {
    const CsvTable table = CsvTable::from_file(file);
    return table.has("family") && table.has("shape");
  }
  return is_kernel_csv(file);
}

/// @throws InputError where some are and some are not
bool are_kernel_tables(const std::vector<std::filesystem::path>& files) {
  const bool first = is_kernel_table(files.front());
  for (const auto& file : files) {
    if (is_kernel_table(file) != first) {
      const auto& [kernels, other] = first ? std::pair{files.front(), file} : std::pair{file, files.front()};
      throw InputError{
          {kernels.string()},
          fmt::format("is a table of kernels, and {} is none: kernels and collectives are fitted "
                      "apart, to files of their own",
                      other.string())};
    }
  }
  return first;
}

/// Adds the inputs that import and fit both take.
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
  add_inputs(*command, *options, options->logs,
             "outputs of nccl-tests, plain or gzip; with --gpu tables of kernels (lockstep-measure, "
             "NeuSight, vidur) or traces of PyTorch's profiler with shapes (Kineto)");
  add_kernel_import_options(*command, *kernels);
  command->add_option("-o,--output", options->output, "the table (default: stdout)");
  command->callback([options, kernels, command, &action] {
    action = [options, kernels, command] {
      if (kernels->gpu.empty() &&
          (!kernels->device.empty() || kernels->shortest > Seconds{0} || kernels->timing_adds > Seconds{0})) {
        throw std::invalid_argument{
            "--device, --shortest and --timing-adds are of tables of kernels, with --gpu"};
      }
      for (const auto& file : options->logs) {
        if (kernels->gpu.empty() && is_trace_name(file)) {
          throw InputError{{file.string()},
                           "is a trace by its name: its kernels want --gpu NAME, its host's overheads are "
                           "lockstep calibrate host's"};
        }
      }
      if (!kernels->gpu.empty()) {
        refuse(*command, {"--collective"}, "tables of kernels");
      }
      return kernels->gpu.empty() ? calibrate_import_command(*options)
                                  : import_kernels_command(options->logs, *kernels, options->output);
    };
  });
}

/// Fits files that are tables of kernels.
int fit_kernels_with(const CalibrateFitOptions& options, FitKernelsOptions kernels, const CLI::App& command) {
  refuse(command,
         {"--cluster", "--start", "--collective", "--hold-out-every", "--hold-out-gpus", "--p2p-level",
          "--net-gdr-level"},
         "tables of kernels");
  kernels.residuals = options.residuals;
  kernels.plot = options.plot;
  return fit_kernels_command(options.files, options.name, options.output, kernels);
}

void add_fit(CLI::App& calibrate, std::function<int()>& action) {
  const auto options = std::make_shared<CalibrateFitOptions>();
  const auto kernels = std::make_shared<FitKernelsOptions>();
  CLI::App* command =
      calibrate.add_subcommand("fit", "fit a collective profile, or networks for kernels, to measurements");
  command->footer(
      "examples:\n"
      "  lockstep calibrate fit all_reduce.log alltoall.log --cluster dgx_a100 -o mine.yaml\n"
      "  lockstep calibrate fit mine.csv --cluster 'dgx_h100 x 2' --start dgx_h100 --hold-out-gpus 4 -o "
      "mine.yaml\n"
      "  lockstep calibrate fit kernels.csv --test other_gpu.csv -o learned.yaml\n"
      "  lockstep calibrate fit kernels.csv --constants -o my_efficiency.yaml");
  add_inputs(*command, *options, options->files,
             "tables of calibrate import (.csv), or outputs of nccl-tests; plain or gzip");
  command->add_option("--cluster", options->cluster,
                      "where collectives ran, e.g. dgx_a100, 'dgx_a100 x 4', a file");
  command->add_option("--start", options->start,
                      "the collective profile to start from: a name of lockstep list profiles, or a file "
                      "(default: the one that a run on the cluster takes)");
  command->add_option("--name", options->name, "of the new profile (default: its file's)");
  command->add_option("-o,--output", options->output, "the profile or the networks, as YAML")->required();
  command->add_option("--residuals", options->residuals, "write every row with its prediction, as CSV");
  command->add_option("--plot", options->plot, "draw predicted / measured of every row, as SVG (.svg)");
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
  command->callback([options, kernels, command, &action] {
    bool fits_kernels = false;
    try {
      fits_kernels = are_kernel_tables(options->files);
    } catch (const InputError&) {  // told as any command tells it
      action = [problem = std::current_exception()]() -> int { std::rethrow_exception(problem); };
      return;
    }
    if (fits_kernels) {
      action = [options, kernels, command] { return fit_kernels_with(*options, *kernels, *command); };
      return;
    }
    if (options->cluster.empty()) {
      throw CLI::RequiredError(
          "--cluster, the machine that collectives were measured on ('lockstep list clusters', or a file "
          "of your own),");
    }
    action = [options, command] {
      refuse(*command, {"--test", "--constants", "--seed"}, "measurements of collectives");
      return calibrate_fit_command(*options);
    };
  });
}

}  // namespace

void add_calibrate_command(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("calibrate", "turn measurements of your machine into a profile");
  command->require_subcommand(1);
  command->footer(
      "examples:\n"
      "  lockstep calibrate import all_reduce.log -o mine.csv          logs of nccl-tests as a table\n"
      "  lockstep calibrate fit mine.csv --cluster dgx_a100 -o mine.yaml\n"
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
