#include "app/commands/import.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "app/trace_conversion.hpp"
#include "base/error.hpp"
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

}  // namespace

int import_command(const ImportOptions& options) {
  const ImportedTraces traces = import_traces(options.traces);
  if (!options.chakra.empty()) {
    expect_one_job(traces);
    if (!traces.damaged.empty()) {  // the others would be a smaller job
      throw std::invalid_argument{traces.damaged.front()};
    }
  }
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
  if (!options.chakra.empty()) {
    ResultFolder folder{options.chakra, is_of_chakra};
    fmt::print("{}", to_text(convert_into(folder, traces.replays.front(), traces.execution_traces, "")));
  }
  return traces.damaged.empty() ? 0 : kExitInput;
}

void add_import_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command =
      app.add_subcommand("import", "read traces: what they hold, what is odd, what is inferred");
  command->footer(
      "examples:\n"
      "  lockstep import traces/                        all traces of a folder\n"
      "  lockstep import kineto.json.gz et.json.gz      a profile and the execution trace of the same step, "
      "linked\n"
      "  lockstep import kineto/ et/ --chakra out       both as Chakra traces, one of each rank");
  command
      ->add_option("TRACE", options->traces,
                   "profiles of PyTorch (Kineto), its execution traces, Chakra traces, timelines of "
                   "pipelines, or folders of them")
      ->required();
  command->add_option("--chakra", options->chakra,
                      "folder for Chakra traces of the profiles: every kernel on its stream, operators with "
                      "their arguments");
  command->callback([options, &action] { action = [options] { return import_command(*options); }; });
}

}  // namespace lockstep
