#include "app/commands/calibrate_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>
#include <stdexcept>

#include "app/notes.hpp"
#include "app/traced_kernels.hpp"
#include "base/citation.hpp"
#include "base/config_path.hpp"
#include "base/effective.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/parse_units.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/kernels/constant_fit.hpp"
#include "calibration/kernels/gpu_model_names.hpp"
#include "calibration/kernels/kernel_fit.hpp"
#include "ops/kernel_model.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

/// GPUs of configs/gpus, or files, read once each.
class GpuModels {
 public:
  const GpuSpec& operator()(const std::string& name) {
    const auto [at, is_new] = specs_.try_emplace(name);
    if (is_new) {
      const ConfigPath configs = ConfigPath::standard();
      at->second = read_file<GpuSpec>(configs.find_or_file("gpus", name), configs);
    }
    return at->second;
  }

 private:
  std::map<std::string, GpuSpec> specs_;
};

void report(const std::filesystem::path& file, const KernelImportReport& found) {
  std::string text = fmt::format("{}: {} measurements", file.string(), found.used);
  for (const auto& [count, what] :
       {std::pair{found.other_device, "of other devices left out"},
        std::pair{
            found.too_short,
            "no longer than --timing-adds (0 us), or by the formulas shorter than --shortest, left out"},
        std::pair{found.beside_others, "that ran beside work on other streams left out"},
        std::pair{found.strided, "element-wise of operands that lie in memory as no shape tells left out"},
        std::pair{found.not_modelled, "of kernels that networks do not answer for left out"}}) {
    text += count > 0 ? fmt::format(", {} {}", count, what) : std::string{};
  }
  note("{}\n", text);
}

/// Warns of a file that names another GPU's model than --gpu is.
void warn_of_another_gpu(const std::string& device, const std::string& file, const std::string& gpu) {
  if (GpuModelNames{ConfigPath::standard().names("gpus")}.tell_apart(device, gpu)) {
    log_of(LogComponent::App)
        .warn("{} is of '{}', and --gpu is {}: a kernel's time is its own GPU's", file, device, gpu);
  }
}

/// Warns of a file whose GPU has another memory than --gpu: a board of its own, whose memory's rate is
/// another, too.
void warn_of_another_board(const KernelImportReport& found, const std::string& file, const GpuSpec& gpu) {
  constexpr double kSame = 1.1;  // what a driver leaves of it, and GB for GiB
  if (found.memory <= Bytes{0}) return;
  const double factor = found.memory / gpu.memory;
  if (std::max(factor, 1 / factor) <= kSame) return;
  constexpr Bytes kGigabyte{1e9};
  log_of(LogComponent::App)
      .warn(
          "{} is of a GPU with {:.1f} GB of memory ({}), and {} has {:.1f} GB: another board, and a memory "
          "of "
          "another rate",
          file, found.memory / kGigabyte, found.device.empty() ? "no name said" : found.device, gpu.name,
          gpu.memory / kGigabyte);
}

/// Kernels timed alone run at a clock that training does not keep: some GPUs have a model for each.
void warn_of_power(const std::string& gpu) {
  const std::string alone = gpu + "_boost";
  const std::vector<std::string> names = ConfigPath::standard().names("gpus");
  if (std::ranges::find(names, alone) != names.end()) {
    log_of(LogComponent::App)
        .warn(
            "{} has the rates that its power limit leaves to minutes of training; kernels timed alone are "
            "those of {}",
            gpu, alone);
  }
}

/// Writes the files of a fit: @p yaml and, where they are asked for, its residuals.
void write_fit(const std::string& output, const std::string& yaml, const std::string& title,
               const std::vector<KernelResidual>& residuals, const FitKernelsOptions& options) {
  std::vector<FileToWrite> files{{output, yaml}};
  if (!options.residuals.empty()) files.push_back({options.residuals, kernel_residuals_csv(residuals)});
  if (!options.plot.empty()) files.push_back({options.plot, to_svg(residuals_of(title, residuals))});
  write_whole_files(files);
}

/// The path in the form for a GPU's file: without a folder or .yaml it would be a name of configs/.
std::string file_in_words(const std::string& file) {
  return is_path(file) ? file : "./" + file;
}

}  // namespace

void add_kernel_import_options(CLI::App& command, KernelImportOptions& options) {
  command.add_option("--gpu", options.gpu,
                     "the files are tables of kernels of this GPU: a name of lockstep list gpus, or a file");
  command.add_option("--device", options.device, "of kernels: take the rows of this Device only");
  const auto add_time = [&command](const char* name, Seconds& time, const char* what) {
    command.add_option_function<std::string>(
        name,
        [name, &time](const std::string& text) {
          try {
            parse(text, time);
          } catch (const std::invalid_argument& problem) {
            throw CLI::ValidationError(name, problem.what());
          }
          if (time < Seconds{0}) throw CLI::ValidationError(name, "is below 0");
        },
        what);
  };
  add_time("--shortest", options.shortest,
           "of kernels: leave out those that the GPU's formulas say are shorter, e.g. 500us where times "
           "contain the host's launches");
  add_time("--timing-adds", options.timing_adds,
           "of tables of kernels: what each time has beside its kernel, to be taken off, e.g. 3.2us of "
           "lockstep-measure's gemm.csv (the events round a product)");
}

int import_kernels_command(const std::vector<std::filesystem::path>& files,
                           const KernelImportOptions& options, const std::string& output) {
  refuse_twice(files);
  KernelImportOptions of_gpu = options;
  if (is_path(options.gpu)) of_gpu.gpu = std::filesystem::absolute(options.gpu).lexically_normal().string();
  GpuModels gpus;
  const GpuSpec& gpu = gpus(options.gpu);
  of_gpu.multiprocessors = static_cast<int>(gpu.sm_count);
  GpuSpec plain = gpu;
  plain.learned = std::nullopt;
  of_gpu.expected = [&plain](const KernelCall& call) {
    return model_for(call).predict(call, plain).duration;
  };
  KernelMeasurements measurements;
  std::vector<std::string> sources;
  for (const auto& file : files) {
    if (is_trace_name(file) && options.timing_adds > Seconds{0}) {
      throw InputError{{file.string()},
                       "is a trace, which has kernels' own times: --timing-adds is of tables"};
    }
    const KernelImportReport found = is_trace_name(file) ? import_traced_kernels(file, of_gpu, measurements)
                                                         : import_kernel_table(file, of_gpu, measurements);
    report(file, found);
    warn_of_another_gpu(found.device, file.filename().string(), gpu.name);
    warn_of_another_board(found, file.filename().string(), gpu);
    if (found.used > 0) sources.push_back(found.source);
  }
  if (measurements.empty()) throw std::invalid_argument{"no kernel to learn from is in these tables"};
  warn_of_power(options.gpu);
  const std::string text = kernel_csv(measurements, sources);
  if (output.empty()) {
    fmt::print("{}", text);
  } else {
    write_whole_file(output, text);
  }
  return 0;
}

void add_fit_kernels_options(CLI::App& command, FitKernelsOptions& options) {
  command
      .add_option("--test", options.tests,
                  "of kernels: tables that are only predicted, e.g. of larger shapes or of another GPU")
      ->check(CLI::ExistingFile);
  command.add_flag(
      "--constants", options.constants,
      "of kernels: the few constants of one GPU's models (kernel_efficiency) in place of networks: tens "
      "of rows are enough");
  command.add_option("--seed", options.seed, "of kernels: of the networks' first weights and order")
      ->capture_default_str();
}

namespace {

int fit_constants_command(const std::vector<std::filesystem::path>& files, const std::string& name,
                          const std::string& output, const FitKernelsOptions& options) {
  if (!options.tests.empty()) {
    throw std::invalid_argument{
        "--test is of networks, not of --constants, which hold out a part of the table"};
  }
  GpuModels gpus;
  constexpr double kHeldOut = 0.2;
  const ConstantFit fit = fit_constants(read_kernel_csv(files), std::ref(gpus), kHeldOut);
  fmt::print("split by shape, before fitting: {:.0f} % held out\n{}", 100 * kHeldOut, constant_fit_text(fit));
  for (const std::string& doubt : constant_doubts(fit)) log_of(LogComponent::App).warn("{}", doubt);
  warn_of_power(fit.gpu);
  const std::string its_name = name.empty() ? std::filesystem::path{output}.stem().string() : name;
  const std::string source = fmt::format("lockstep calibrate fit {} --constants; by shape, {:.0f} % held out",
                                         cited_tables(files), 100 * kHeldOut);
  const std::string base = gpus(fit.gpu).efficiency.name;
  if (base.empty()) {
    throw std::invalid_argument{fmt::format(
        "the GPU '{}' says its efficiency in place: give it a set of its own to start from", fit.gpu)};
  }
  const auto document =
      YamlDocument::from_file(ConfigPath::standard().find_or_file(KernelEfficiency::kConfigKind, base));
  write_fit(output, effective_text<KernelEfficiency>(with_constants(fit, document, its_name, source)),
            "kernels of " + fit.gpu, fit.residuals, options);
  fmt::print("\nwritten: {}, {} with these constants; a GPU takes it with   efficiency: {}\n", output, base,
             file_in_words(output));
  return 0;
}

}  // namespace

int fit_kernels_command(const std::vector<std::filesystem::path>& files, const std::string& name,
                        const std::string& output, const FitKernelsOptions& options) {
  refuse_twice(files);
  if (!options.plot.empty() && std::filesystem::path{options.plot}.extension() != ".svg") {
    throw InputError{{options.plot}, "--plot draws SVG: end its name in .svg"};
  }
  if (options.constants) {
    return fit_constants_command(files, name, output, options);
  }
  std::vector<KernelTest> tests;
  for (const auto& file : options.tests) tests.push_back({file.stem().string(), read_kernel_csv({file})});
  KernelFitOptions how;
  how.training.seed = options.seed;
  GpuModels gpus;
  const KernelFit fit = fit_kernels(read_kernel_csv(files), tests, std::ref(gpus), how);
  fmt::print("split by shape, before fitting: {:.0f} % held out, {:.0f} % to stop the training, seed {}\n{}",
             100 * how.held_out, 100 * how.validation, options.seed, kernel_fit_text(fit));
  const std::string source = fmt::format(
      "lockstep calibrate fit {}; by shape, {:.0f} % held out and {:.0f} % to stop the training; seed {}",
      cited_tables(files), 100 * how.held_out, 100 * how.validation, options.seed);
  const std::string its_name = name.empty() ? std::filesystem::path{output}.stem().string() : name;
  std::vector<KernelResidual> residuals;
  for (const FittedKernel& kernel : fit.kernels) {
    residuals.insert(residuals.end(), kernel.residuals.begin(), kernel.residuals.end());
  }
  write_fit(output, learned_kernels_yaml(fit, its_name, source),
            fmt::format("kernels of {}", fmt::join(fit.gpus, ", ")), residuals, options);
  fmt::print("\nwritten: {}; a GPU takes it with   learned: {}\n", output, file_in_words(output));
  return 0;
}

}  // namespace lockstep
