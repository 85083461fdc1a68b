#include "app/commands/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "app/interruption.hpp"
#include "app/result_folder.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "generate/beside.hpp"
#include "generate/coverage.hpp"
#include "generate/manifest.hpp"
#include "generate/operation_table.hpp"
#include "generate/refinement.hpp"
#include "generate/repetition.hpp"
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

/// The number of `--repeat NUMBER RANGE`.
int times_of(const std::string& text) {
  int times = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), times);
  if (problem != std::errc{} || end != text.data() + text.size() || times < 1) {
    throw std::invalid_argument{fmt::format("--repeat: a number from 1 and a range, not '{}'", text)};
  }
  return times;
}

/// The factor of `--scale batch=FACTOR`; 1 for none.
double batch_scale_of(const std::string& text) {
  constexpr std::string_view kBatch = "batch=";
  double factor = text.empty() ? 1 : 0;
  if (text.starts_with(kBatch)) {
    std::from_chars(text.data() + kBatch.size(), text.data() + text.size(), factor);
  }
  if (!(factor > 0)) {
    throw std::invalid_argument{fmt::format("--scale: batch=FACTOR, e.g. batch=0.5, not '{}'", text)};
  }
  return factor;
}

/// The part of the source that was asked for.
void take_part(const GenerateOptions& options, Source& source) {
  if (options.repeats.size() == 2) {
    repeat(source.benchmark, options.repeats.back(), times_of(options.repeats.front()));
  }
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

/// A program's table, and what its manifest says of it.
struct Generated {
  benchmark::Table table;
  Coverage coverage;
  ManifestFacts facts;
};

/// Adds the program of --beside; both are simulated on the source's machine.
void add_beside(const GenerateOptions& options, const Source& source, Generated& made) {
  const std::filesystem::path other{options.beside};
  made.table = beside(made.table, read_operation_table(other / kOperationTable));
  made.coverage = sum_of(made.coverage, read_coverage(other / kManifestOfProgram));
  Job job = job_of(made.table);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = source.benchmark.job.ranks[rank].gpu;
  }
  made.facts.source = totals_of(made.table);
  made.facts.source.step_seconds = step_of(*source.machine, job);
  made.facts.simulated_step = made.facts.source.step_seconds;
  fmt::print("beside {}: {:.3f} ms a step alone, {:.3f} ms together\n", options.beside,
             kMilli * step_of(*source.machine, source.benchmark.job), kMilli * made.facts.simulated_step);
}

/// Applies measurements of --refine; says how many kernels they corrected.
void refine_by(const GenerateOptions& options, Generated& made) {
  for (const std::string& measured : options.refine) {
    made.facts.refined = refine(made.table, read_all_measured(measured));
    const auto slow = std::ranges::count(made.facts.refined, true, &RefinedKernel::is_too_slow);
    fmt::print("refined by {}: {} kernels corrected, {} too slow to be corrected\n", measured,
               made.facts.refined.size() - static_cast<std::size_t>(slow), slow);
  }
}

/// @param whole_step simulated, of all ranks
Generated generated_from(const GenerateOptions& options, const Source& source, double whole_step) {
  Generated made;
  made.table = table_of(source.benchmark, {options.seed, options.steps, options.host == "recorded"});
  made.coverage = coverage_of(source.benchmark);
  made.facts.target = options.target;
  made.facts.memory = memory_of(source.benchmark);
  made.facts.source = totals_of(made.table);
  made.facts.source.step_seconds = whole_step;
  made.facts.simulated_step = options.ranks > 0 ? step_of(*source.machine, source.benchmark.job) : whole_step;
  refine_by(options, made);
  if (!options.beside.empty()) {
    add_beside(options, source, made);
  }
  return made;
}

void print_generated(const GenerateOptions& options, const Generated& made, const std::string& folder) {
  fmt::print("{} ranks, {} launches and {} collectives a step, in {}\n\n{}\n", made.table.ranks.size(),
             made.facts.source.launches, made.facts.source.collectives, folder, coverage_text(made.coverage));
  if (const MemoryFacts& memory = made.facts.memory; memory.storages > 0) {
    constexpr double kMebi = 1024.0 * 1024;
    fmt::print(
        "memory of tensors: {} storages in {:.1f} MiB; PyTorch's allocator reserves {:.1f} MiB for them\n",
        memory.storages, static_cast<double>(memory.planned) / kMebi,
        static_cast<double>(memory.allocator) / kMebi);
  }
  const double step = made.facts.source.step_seconds;
  if (options.ranks > 0) {
    fmt::print("simulated step: {:.3f} ms, of all ranks {:.3f} ms ({:+.2f} %)\n",
               kMilli * made.facts.simulated_step, kMilli * step,
               percent_off(made.facts.simulated_step, step));
  } else {
    fmt::print("simulated step: {:.3f} ms\n", kMilli * step);
  }
}

/// The files of the program, in the folder that was asked for. @return that folder
std::string write_generated(const GenerateOptions& options, const Source& source, const Generated& made) {
  std::vector<ProgramFile> files =
      program_files(made.table, options.target == "cuda" ? Target::Cuda : Target::PyTorch);
  files.push_back(source.machine_file);
  files.push_back({kManifestOfProgram, manifest_json(made.table, made.coverage, made.facts)});
  const std::filesystem::path place = result_folder(options.folder, options.sources.front());
  refuse_a_project(place);
  ResultFolder folder{place, is_of_program};
  const Interruption interruption{[&folder] {
    remove_unfinished_files();
    folder.abandon();
  }};
  write_program(folder, files);
  folder.commit();
  return folder.path().string();
}

int generate_program(const GenerateOptions& options) {
  Source source = open_source({options.sources, options.overrides,
                               options.target == "cuda" ? Target::Cuda : Target::PyTorch, options.precision,
                               batch_scale_of(options.scale)});
  take_part(options, source);
  const double step = step_of(*source.machine, source.benchmark.job);
  if (options.ranks > 0) {
    scale(options, source);
  }
  if (options.obfuscates) {
    obfuscate(source.benchmark);
  }
  const Generated made = generated_from(options, source, step);
  print_generated(options, made, write_generated(options, source, made));
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
  command
      .add_option("--repeat", options.repeats,
                  "NUMBER RANGE: what is within ranges whose name has RANGE, so many times in a row")
      ->expected(2);
  command.add_option("--beside", options.beside,
                     "folder of another program: its job runs on the same GPUs at the same time");
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
  command->add_option("--precision", options->precision, "of a scenario: fp32, tf32, fp16, bf16 or fp8");
  command->add_option("--scale", options->scale, "of a scenario: batch=0.5 is half the samples a step");
  command
      ->add_option(
          "--refine", options->refine,
          "what the program measured before, file or folder: its kernels are corrected; twice at most")
      ->expected(1, 2);
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
