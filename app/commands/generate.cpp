#include "app/commands/generate.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "app/interruption.hpp"
#include "app/result_folder.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "generate/coverage.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/source.hpp"

namespace lockstep {
namespace {

using namespace generate;

constexpr double kMilli = 1e3;

double step_of(const Machine& machine, const Job& job) {
  return machine.simulate(job).mean_step().in_base_units();
}

double percent_off(double value, double of) {
  return of > 0 ? 100 * (value / of - 1) : 0;
}

void write_program(ResultFolder& folder, const std::vector<ProgramFile>& files) {
  for (const ProgramFile& file : files) {
    const std::filesystem::path path = folder.staged() / file.name;
    write_whole_file(path, file.content);
    if (file.is_executable) {
      std::filesystem::permissions(path, std::filesystem::perms{0755});
    }
  }
}

int generate_program(const GenerateOptions& options) {
  const Target target = options.target == "cuda" ? Target::Cuda : Target::PyTorch;
  const Source source = open_source({options.sources, options.overrides, target});
  const RunOptions run{options.seed, options.steps, options.host == "recorded"};
  const benchmark::Table table = table_of(source.benchmark, run);
  const Coverage coverage = coverage_of(source.benchmark);
  ManifestFacts facts;
  facts.source = totals_of(table);
  facts.source.step_seconds = step_of(*source.machine, source.benchmark.job);
  facts.simulated_step = facts.source.step_seconds;
  facts.target = options.target;
  facts.command = options.command;
  std::vector<ProgramFile> files = program_files(table, target);
  files.push_back(source.machine_file);
  files.push_back({kManifestOfProgram, manifest_json(table, coverage, facts)});
  ResultFolder folder{result_folder(options.folder, options.sources.front()), is_of_program};
  const Interruption interruption{[&folder] {
    remove_unfinished_files();
    folder.abandon();
  }};
  write_program(folder, files);
  folder.commit();
  fmt::print("{} ranks, {} launches and {} collectives a step, in {}\n\n{}\n", table.ranks.size(),
             facts.source.launches, facts.source.collectives, folder.path().string(), coverage_text(coverage));
  fmt::print("simulated step: {:.3f} ms\n", kMilli * facts.simulated_step);
  return 0;
}

int check_program(const std::string& name) {
  const std::filesystem::path folder{name};
  check_is_one_result(folder, is_of_program);
  const Totals source = read_source_totals(folder / kManifestOfProgram);
  const benchmark::Table table = read_operation_table(folder / kOperationTable);
  PlacedJob placed;
  try {
    placed = place(job_of(table), folder);
  } catch (const std::invalid_argument& problem) {
    throw InputError{{(folder / kOperationTable).string()}, problem.what()};
  }
  Totals program = totals_of(table);
  program.step_seconds = step_of(*placed.machine, placed.job);
  fmt::print("{:<22} {:>16} {:>16} {:>9}\n", "a step, all ranks", "source", "program", "off by");
  const auto row = [](const char* what, double of_source, double of_program) {
    fmt::print("{:<22} {:>16.10g} {:>16.10g} {:>8.3f}%\n", what, of_source, of_program,
               percent_off(of_program, of_source));
  };
  row("launches", static_cast<double>(source.launches), static_cast<double>(program.launches));
  row("bytes of kernels", source.kernel_bytes, program.kernel_bytes);
  row("FLOPs of kernels", source.kernel_flops, program.kernel_flops);
  row("collectives", static_cast<double>(source.collectives), static_cast<double>(program.collectives));
  row("bytes of collectives", source.collective_bytes, program.collective_bytes);
  row("kernel time, ms", kMilli * source.kernel_seconds, kMilli * program.kernel_seconds);
  row("simulated step, ms", kMilli * source.step_seconds, kMilli * program.step_seconds);
  return 0;
}

}  // namespace

int generate_command(const GenerateOptions& options) {
  if (!options.check.empty()) {
    return check_program(options.check);
  }
  if (options.sources.empty()) {
    throw std::invalid_argument{"generate: a scenario or traces to make a program of, or --check FOLDER"};
  }
  return generate_program(options);
}

void add_generate_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("generate", "write a small program that behaves like a job");
  command->footer(
      "examples:\n"
      "  lockstep generate traces/ -o bench               a CUDA program that does what was recorded\n"
      "  lockstep generate gpt2_8xa100 -o bench           the same of a scenario\n"
      "  lockstep generate --check bench                  simulated, against what it was made from");
  command->add_option("SOURCE", options->sources,
                      "a name of lockstep list, a scenario.yaml or its folder; or Kineto traces, or a folder of them");
  command->add_option("-o,--output", options->folder, "folder for the program (default: lockstep-out/NAME)");
  command->add_option("--as", options->target, "cuda (default), or pytorch: one script of operators")
      ->check(CLI::IsMember({"cuda", "pytorch"}));
  command->add_option("--host", options->host, "recorded (default): host time is spent; none: launches at once")
      ->check(CLI::IsMember({"recorded", "none"}));
  command->add_option("--steps", options->steps, "that the program measures (20)")->check(CLI::Range(1, 1000000));
  command->add_option("--seed", options->seed, "of the values that kernels read (1)");
  command->add_option("--set", *assignments, "KEY=VALUE: as of lockstep run, or of lockstep replay for traces")
      ->allow_extra_args(false);
  command->add_option("--check", options->check, "simulate the program in this folder");
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return generate_command(*options);
    };
  });
}

}  // namespace lockstep
