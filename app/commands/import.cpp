#include "app/commands/import.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "app/import_json.hpp"
#include "app/notes.hpp"
#include "app/result_folder.hpp"
#include "app/trace_conversion.hpp"
#include "base/config_path.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "import/imported.hpp"
#include "import/launch_flags.hpp"
#include "import/recognisers.hpp"
#include "import/scenario_text.hpp"
#include "scenario/outcome.hpp"
#include "traces/imported_traces.hpp"
#include "traces/pytorch_et/kineto_link.hpp"

namespace lockstep {
namespace {

void print(const replay::RankRecording& rank) {
  const kineto::RecordedTrace& trace = rank.trace;
  fmt::print(
      "{}\n  profile, rank {}{}, {} events: {} operators, {} calls, {} pieces of GPU work on {} streams, "
      "{} communication kernels\n{}",
      trace.file, trace.rank < 0 ? "not said" : std::to_string(trace.rank),
      trace.gpu_names.empty() ? "" : ", " + trace.gpu_names.front(), trace.events, trace.operators.size(),
      trace.calls.size(), trace.work.size(), rank.links.lanes.size(), rank.communication.size(),
      to_text(trace.report));
}

void print(const pytorch_et::ExecutionTrace& trace) {
  fmt::print("{}\n  execution trace, schema {}: {} nodes, {} tensors, {} collectives, {} process groups\n{}",
             trace.file, trace.schema, trace.nodes.size(), trace.tensors.size(), trace.communications.size(),
             trace.groups.size(), to_text(trace.report));
}

void print(const chakra::TraceSummary& trace) {
  constexpr double kMilli = 1e3;
  fmt::print(
      "{}\n  Chakra trace, {}{}: {} nodes: {} of the host on {} threads, {} kernels ({:.3f} ms) on {} "
      "streams, {} left out\n",
      trace.file, trace.kind, trace.schema.empty() ? "" : ", schema " + trace.schema, trace.nodes, trace.host,
      trace.threads, trace.kernels, kMilli * trace.gpu_seconds, trace.streams, trace.other);
  for (const auto& [kind, row] : trace.collectives) {
    fmt::print("  {} {}, {:.0f} bytes\n", row.count, kind, row.bytes);
  }
  fmt::print("{}", to_text(trace.report));
}

void print(const pipeline::Timeline& timeline) {
  fmt::print(
      "{}\n  timeline of a pipeline: {} workers in {} stages, {} steps, {} operations on {} lanes (lockstep "
      "stragglers)\n{}",
      timeline.file, timeline.workers.size(), timeline.stages, timeline.steps.size(),
      timeline.operations.size(), timeline.lanes.size(), to_text(timeline.report));
}

void print_link(const pytorch_et::ExecutionTrace& trace, const kineto::RecordedTrace& profile) {
  ImportReport report;
  const pytorch_et::KinetoLink link = pytorch_et::link_to_kineto(trace, profile, report);
  fmt::print("{} with {}\n  linked by {}: {} of {} operators, {} of {} nodes, confidence {:.4f}\n{}",
             trace.file, profile.file, to_string(link.method), link.linked, link.operators, link.linked_nodes,
             link.nodes, link.confidence(), to_text(report));
}

/// The k-th execution trace is of the same rank as the k-th profile.
void print_links(const ImportedTraces& traces) {
  const auto profiles = traces.profiles();
  if (profiles.empty() || traces.execution_traces.empty()) {
    return;
  }
  if (profiles.size() != traces.execution_traces.size()) {
    fmt::print("not linked: {} execution traces for {} profiles, one for each is needed\n",
               traces.execution_traces.size(), profiles.size());
    return;
  }
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    print_link(traces.execution_traces[i], profiles[i]->trace);
  }
}

void expect_one_job(const ImportedTraces& traces) {
  if (traces.replays.size() != 1) {
    throw InputError{{"--chakra"},
                     traces.replays.empty() ? "Chakra traces are made of profiles: none was given"
                                            : "several profiles of one rank were given: those of one window "
                                              "at a time become the traces of a job"};
  }
}

void print(const ImportedTraces& traces) {
  for (const replay::RankRecording* profile : traces.profiles()) {
    print(*profile);
  }
  for (const pytorch_et::ExecutionTrace& trace : traces.execution_traces) {
    print(trace);
  }
  print_links(traces);
  for (const chakra::TraceSummary& trace : traces.chakra) {
    print(trace);
  }
  for (const pipeline::Timeline& timeline : traces.pipelines) {
    print(timeline);
  }
  for (const std::string& other : traces.others) {
    fmt::print("no trace: {}\n", other);
  }
  for (const std::string& damaged : traces.damaged) {
    fmt::print("cannot be read: {}\n", damaged);
  }
}

/// Writes it where --json says. @return whether it takes the place of the text
bool gives_json(const ImportOptions& options, const std::function<std::string()>& json) {
  if (options.json == "-") {
    fmt::print("{}", json());
  } else if (!options.json.empty()) {
    write_whole_file(options.json, json());
  }
  return options.json == "-";
}

int list_traces(const ImportOptions& options, const std::vector<std::string>& files) {
  const ImportedTraces traces = import_traces(files);
  if (!options.chakra.empty()) {
    expect_one_job(traces);
    if (!traces.damaged.empty()) {  // the others would be a smaller job
      throw std::invalid_argument{traces.damaged.front()};
    }
  }
  const bool is_json = gives_json(options, [&] { return traces_json(traces); });
  if (!is_json) {
    print(traces);
  }
  if (!options.chakra.empty()) {
    ResultFolder folder{options.chakra, is_of_chakra};
    const std::string text =
        to_text(convert_into(folder, traces.replays.front(), traces.execution_traces, ""));
    is_json ? note(text) : fmt::print("{}", text);
  }
  return traces.damaged.empty() ? 0 : kExitInput;
}

/// Files that a scenario is made of, for a file that is no trace either.
std::string other_kinds() {
  std::vector<std::string_view> titles;
  for (const importing::Recogniser& row : importing::recognisers()) {
    titles.push_back(row.title);
  }
  return fmt::format("; nor a file that a scenario is made of: {}", fmt::join(titles, ", "));
}

/// Writes the scenario that the files describe, or the flags that start it.
void describe(const ImportOptions& options, const std::vector<std::string>& files) {
  const ConfigPath configs = ConfigPath::standard();
  const importing::Draft draft = importing::import_description(files, configs);
  const std::string text = importing::text_of(draft);
  if (!options.output.empty()) {
    write_whole_file(options.output, text);
    note("{}scenario: {}\n", importing::remarks_text(draft), options.output);
  }
  const std::string launch =
      options.emit.empty() ? ""
                           : importing::launch_text(options.emit, importing::document_of(draft), configs);
  if (gives_json(options, [&] { return draft_json(draft, launch); })) {
    return;
  }
  if (!options.emit.empty()) {
    fmt::print("{}", launch);
  } else if (options.output.empty()) {
    fmt::print("{}", text);
  }
}

}  // namespace

int import_command(const ImportOptions& options) {
  std::vector<std::string> descriptions, traces;
  for (const std::string& file : options.files) {
    (importing::is_description(file) ? descriptions : traces).push_back(file);
  }
  check_outputs({options.output, options.json});
  if (!options.json.empty() && !descriptions.empty() && !traces.empty()) {
    throw std::invalid_argument{
        fmt::format("--json: {} describes a job or a machine, {} is a trace: import them one after the other",
                    descriptions.front(), traces.front())};
  }
  if (!descriptions.empty()) {
    describe(options, descriptions);
  } else if (!options.output.empty() || !options.emit.empty()) {
    throw InputError{
        {options.files.front()},
        "no file describes a job or a machine, of which a scenario could be written: see `lockstep list "
        "importers`; traces are simulated by `lockstep replay`"};
  }
  try {
    return traces.empty() ? kExitOk : list_traces(options, traces);
  } catch (const ForeignTrace&) {
    throw;
  } catch (const NoTrace& problem) {
    throw InputError{problem.where(), problem.problems().front().message + other_kinds()};
  }
}

void add_import_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import",
      "write a scenario from files that you have; or read traces: what they hold, what is inferred");
  command->footer(
      "examples:\n"
      "  lockstep import config.json -o mine.yaml             a model of Hugging Face as a scenario\n"
      "  lockstep import train.sh topo.txt -o mine.yaml       Megatron-LM's arguments on the machine of "
      "`nvidia-smi "
      "topo -m`\n"
      "  lockstep import meta-llama/Meta-Llama-3-70B          a model id, where the model ships\n"
      "  lockstep import job.toml --emit megatron             flags of another framework\n"
      "  lockstep import traces/                              what the traces of a folder hold\n"
      "  lockstep import kineto.json.gz et.json.gz            a profile and the execution trace of the same "
      "step, "
      "linked\n"
      "  lockstep import kineto/ et/ --chakra out             both as Chakra traces, one of each rank");
  command
      ->add_option(
          "FILE", options->files,
          "a model's config.json or its id, arguments of Megatron-LM, torchtitan's TOML, DeepSpeed's JSON, "
          "YAML "
          "of NeMo, Megatron-Bridge or Accelerate, a topology of nvidia-smi, NCCL, InfiniBand or SLURM; or "
          "profiles of PyTorch (Kineto), its execution traces, Chakra traces, timelines of pipelines, or "
          "folders of them; - for stdin, which is no trace")
      ->required();
  command->add_option("-o,--output", options->output, "file for the scenario (default: stdout)");
  command->add_option("--json", options->json,
                      "the scenario and what was not understood, or what traces hold, as JSON; - for stdout "
                      "instead of the text");
  command->add_option("--emit", options->emit,
                      "flags that start the job: megatron, torchtitan, deepspeed, torchrun");
  command->add_option("--chakra", options->chakra,
                      "folder for Chakra traces of the profiles: every kernel on its stream, operators with "
                      "their arguments");
  command->callback([options, &action] { action = [options] { return import_command(*options); }; });
}

}  // namespace lockstep
