#include "app/commands/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/interruption.hpp"
#include "app/result_folder.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "generate/coverage.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/scale_down.hpp"
#include "generate/score.hpp"
#include "generate/selection.hpp"
#include "generate/source.hpp"
#include "traces/chrome_trace.hpp"

namespace lockstep {
namespace {

using namespace generate;

constexpr double kMilli = 1e3;

double step_of(const generate::Machine& machine, const Job& job) {
  return machine.simulate(job).mean_step().in_base_units();
}

double percent_off(double value, double of) {
  return of > 0 ? 100 * (value / of - 1) : 0;
}

/// Others' projects have files of such names too. @throws InputError for a folder with one that is no program
void refuse_a_project(const std::filesystem::path& folder) {
  for (const char* name : {"CMakeLists.txt", "run.sh"}) {
    if (exists(folder / name) && !exists(folder / kManifestOfProgram)) {
      throw InputError{{(folder / name).string()},
                       fmt::format("is of no generated program (there is no {} beside it): -o takes an empty "
                                   "folder, a new one, or an older program's",
                                   kManifestOfProgram)};
    }
  }
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

bool leaves_out(const GenerateOptions& options, const char* what) {
  return std::ranges::find(options.without, what) != options.without.end();
}

/// The part of the source that was asked for.
void take_part(const GenerateOptions& options, Source& source) {
  select(source.benchmark,
         {options.only, options.families, options.range, options.stream, !leaves_out(options, "compute"),
          !leaves_out(options, "communication"), !leaves_out(options, "host")});
  fill(source.benchmark, options.fill == "busy"   ? Fill::Busy
                         : options.fill == "skip" ? Fill::Skip
                                                  : Fill::Error);
}

/// Fewer ranks; says so.
void scale(const GenerateOptions& options, Source& source) {
  const std::size_t all = source.benchmark.job.ranks.size();
  const ScaleDown scaled = scale_down(source.benchmark, *source.machine, options.ranks);
  fmt::print(
      "ranks {} stand for {}: {} collectives a step among those that are there, and {} for which nobody else "
      "is, "
      "wait as with all\n",
      fmt::join(scaled.chosen, ", "), all, scaled.shrunk, scaled.alone);
}

int generate_program(const GenerateOptions& options) {
  const Target target = options.target == "cuda" ? Target::Cuda : Target::PyTorch;
  Source source = open_source({options.sources, options.overrides, target});
  take_part(options, source);
  const RunOptions run{options.seed, options.steps, options.host == "recorded"};
  ManifestFacts facts;
  facts.target = options.target;
  const double step = step_of(*source.machine, source.benchmark.job);
  if (options.ranks > 0) {
    scale(options, source);
  }
  if (options.obfuscates) {
    obfuscate(source.benchmark);
  }
  const benchmark::Table table = table_of(source.benchmark, run);
  const Coverage coverage = coverage_of(source.benchmark);
  facts.source = totals_of(table);
  facts.source.step_seconds = step;
  facts.simulated_step = options.ranks > 0 ? step_of(*source.machine, source.benchmark.job) : step;
  std::vector<ProgramFile> files = program_files(table, target);
  files.push_back(source.machine_file);
  files.push_back({kManifestOfProgram, manifest_json(table, coverage, facts)});
  const std::filesystem::path place = result_folder(options.folder, options.sources.front());
  refuse_a_project(place);
  ResultFolder folder{place, is_of_program};
  const Interruption interruption{[&folder] {
    remove_unfinished_files();
    folder.abandon();
  }};
  write_program(folder, files);
  folder.commit();
  fmt::print("{} ranks, {} launches and {} collectives a step, in {}\n\n{}\n", table.ranks.size(),
             facts.source.launches, facts.source.collectives, folder.path().string(),
             coverage_text(coverage));
  if (options.ranks > 0) {
    fmt::print("simulated step: {:.3f} ms, of all ranks {:.3f} ms ({:+.2f} %)\n",
               kMilli * facts.simulated_step, kMilli * step, percent_off(facts.simulated_step, step));
  } else {
    fmt::print("simulated step: {:.3f} ms\n", kMilli * step);
  }
  return 0;
}

/// The mean step, and the timeline where a file for it is named.
double simulated_step(const PlacedJob& placed, const std::string& timeline) {
  if (timeline.empty()) {
    return step_of(*placed.machine, placed.job);
  }
  ChromeTraceOptions options;
  options.path = timeline;
  ChromeTraceWriter writer{placed.job, placed.machine->fabric().vertices(), options};
  const double step = placed.machine->simulate(placed.job, &writer).mean_step().in_base_units();
  writer.finish();
  return step;
}

int check_program(const GenerateOptions& given) {
  const std::filesystem::path folder{given.check};
  check_outputs({given.timeline});
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
  program.step_seconds = simulated_step(placed, given.timeline);
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
  if (!options.score.empty()) {
    const double expected = read_program_step(std::filesystem::path{options.score} / kManifestOfProgram);
    fmt::print(
        "{}",
        score_text(read_all_measured(options.measured.empty() ? options.score : options.measured), expected));
    return 0;
  }
  if (!options.check.empty()) {
    return check_program(options);
  }
  if (options.sources.empty()) {
    throw std::invalid_argument{"generate: a scenario or traces to make a program of, or --check FOLDER"};
  }
  return generate_program(options);
}

namespace {

/// Options that choose which part of the job a program repeats.
void add_parts(CLI::App& command, GenerateOptions& options) {
  command
      .add_option("--ranks", options.ranks,
                  "so many stand for all: groups shrink, and wait as with all members")
      ->check(CLI::Range(1, 1000000));
  command
      .add_option("--only", options.only,
                  "kernels whose name or family has this, collectives whose kind has it")
      ->allow_extra_args(false);
  command.add_option("--family", options.families, "families of kernels, e.g. gemm,communication")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--range", options.range, "what is launched within ranges whose name has this");
  command.add_option("--stream", options.stream, "what is on streams whose name has this");
  command.add_option("--without", options.without, "communication, compute or host: its time")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"communication", "compute", "host"}));
  command
      .add_option("--fill", options.fill,
                  "kernels that cannot be reproduced: busy (default) holds the GPU as long, skip, error")
      ->check(CLI::IsMember({"busy", "skip", "error"}));
  command.add_flag("--obfuscate", options.obfuscates, "numbers instead of the source's names");
}

/// Options for a program that is already there.
void add_checks(CLI::App& command, GenerateOptions& options) {
  command.add_option("--score", options.score, "compare what the program in this folder measured");
  command.add_option("--measured", options.measured, "with --score: file or folder of what was measured");
  command.add_option("--check", options.check, "simulate the program in this folder");
  command.add_option("--timeline", options.timeline,
                     "with --check: file for the simulated timeline, for Perfetto");
}

}  // namespace

void add_generate_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("generate", "write a small program that behaves like a job");
  command->footer(
      "examples:\n"
      "  lockstep generate traces/ -o bench               a CUDA program that does what was recorded\n"
      "  lockstep generate gpt2_8xa100 -o bench           the same of a scenario\n"
      "  lockstep generate gpt2_8xa100 -o bench --ranks 2 two ranks stand for eight\n"
      "  lockstep generate traces/ -o bench --as pytorch --without communication\n"
      "  lockstep generate --check bench                  simulated, against what it was made from\n"
      "  lockstep generate --score bench                  measured (bench/measured.*.json), against "
      "expected");
  command->add_option(
      "SOURCE", options->sources,
      "a name of lockstep list, a scenario.yaml or its folder; or Kineto traces, or a folder of them");
  command->add_option("-o,--output", options->folder, "folder for the program (default: lockstep-out/NAME)");
  command->add_option("--as", options->target, "cuda (default), or pytorch: one script of operators")
      ->check(CLI::IsMember({"cuda", "pytorch"}));
  command
      ->add_option("--host", options->host, "recorded (default): host time is spent; none: launches at once")
      ->check(CLI::IsMember({"recorded", "none"}));
  command->add_option("--steps", options->steps, "that the program measures (20)")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--seed", options->seed, "of the values that kernels read (1)");
  command
      ->add_option("--set", *assignments, "KEY=VALUE: as of lockstep run, or of lockstep replay for traces")
      ->allow_extra_args(false);
  add_parts(*command, *options);
  add_checks(*command, *options);
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return generate_command(*options);
    };
  });
}

}  // namespace lockstep
