#include "app/commands/import.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "traces/kineto/kineto_reader.hpp"
#include "traces/pytorch_et/kineto_link.hpp"
#include "traces/pytorch_et/trace_reader.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep {
namespace {

void print(const replay::RankRecording& rank) {
  const kineto::RecordedTrace& trace = rank.trace;
  fmt::print(
      "{}\n  profile, rank {}{}, {} events: {} operators, {} calls, {} pieces of GPU work on {} streams, "
      "{} collectives\n{}",
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

/// The k-th execution trace is of the same rank as the k-th profile, in the order given.
void print_link(const pytorch_et::ExecutionTrace& trace, const kineto::RecordedTrace& profile) {
  ImportReport report;
  const pytorch_et::KinetoLink link = pytorch_et::link_to_kineto(trace, profile, report);
  fmt::print("{} with {}\n  linked by {}: {} of {} operators, {} of {} nodes, confidence {:.4f}\n{}",
             trace.file, profile.file, to_string(link.method), link.linked, link.operators, link.linked_nodes,
             link.nodes, link.confidence(), to_text(report));
}

}  // namespace

int import_command(const std::vector<std::string>& traces) {
  std::vector<std::string> profiles;
  std::vector<pytorch_et::ExecutionTrace> execution_traces;
  for (const std::string& path : traces) {
    if (std::filesystem::is_directory(path) || kineto::read_if_kineto(path)) {
      profiles.push_back(path);
    } else {
      execution_traces.push_back(pytorch_et::read_execution_trace(path));
    }
  }
  std::optional<replay::Replay> replay;
  if (!profiles.empty()) {
    replay = replay::make_replay(replay::read_traces(profiles));
    for (const replay::RankRecording& rank : replay->ranks) {
      print(rank);
    }
  }
  for (std::size_t i = 0; i < execution_traces.size(); ++i) {
    print(execution_traces[i]);
    if (replay && i < replay->ranks.size()) {
      print_link(execution_traces[i], replay->ranks[i].trace);
    }
  }
  return 0;
}

void add_import_command(CLI::App& app, std::function<int()>& action) {
  const auto traces = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("import", "read traces: what they hold, what is odd, what is inferred");
  command->footer(
      "examples:\n"
      "  lockstep import traces/                        the Kineto files of all ranks\n"
      "  lockstep import kineto.json.gz et.json.gz      a profile and the execution trace of the same step, "
      "linked");
  command
      ->add_option("TRACE", *traces,
                   "Kineto traces of PyTorch's profiler or folders of them, PyTorch execution traces")
      ->required();
  command->callback([traces, &action] { action = [traces] { return import_command(*traces); }; });
}

}  // namespace lockstep
