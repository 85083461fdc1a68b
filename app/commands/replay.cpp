#include "app/commands/replay.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "app/interruption.hpp"
#include "app/replay_report.hpp"
#include "app/report/page.hpp"
#include "app/report/page_timeline.hpp"
#include "app/result_folder.hpp"
#include "app/trace_conversion.hpp"
#include "base/effective.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/yaml_text.hpp"
#include "scenario/overrides.hpp"
#include "traces/chrome_trace.hpp"
#include "traces/pytorch_et/trace_reader.hpp"
#include "traces/replay/work_edits.hpp"

namespace lockstep {
namespace {

YamlDocument document_of(const ReplayOptions& options) {
  YamlDocument document = options.edits.empty() ? YamlDocument::from_text("{}\n", "--set")
                                                : YamlDocument::from_file(options.edits);
  for (const Override& given : options.overrides) {
    document.set(given.key_path, given.value);
  }
  return document;
}

constexpr const char *kTimeline = "timeline.json.gz", *kChanged = "what_if.json.gz";

/// Names of what `replay` writes into its folder.
bool is_of_replay(const std::string& name) {
  return name == kTimeline || name == kChanged || name == kReportPage;
}

/// The result's folder, where one is asked for.
std::unique_ptr<ResultFolder> folder_for(const std::string& path, ResultFolder::IsOurs is_ours) {
  return path.empty() ? nullptr : std::make_unique<ResultFolder>(path, std::move(is_ours));
}

/// Writes the timeline of a simulation under a name of its folder.
class TimelineFile {
 public:
  /// @param folder nullptr: none is written
  TimelineFile(const ResultFolder* folder, const char* name)
      : path_{folder == nullptr ? std::filesystem::path{} : folder->staged() / name} {}

  ReplayRun::OpenSink opener() {
    return [this](const Job& job, const Fabric& fabric) -> TimelineSink* {
      if (path_.empty()) {
        return nullptr;
      }
      ChromeTraceOptions options;
      options.path = path_;
      options.of_a_recording = true;
      // The job lives as long as its simulation: finish() needs it no more.
      job_ = std::make_unique<Job>(job);
      writer_.emplace(*job_, fabric.vertices(), options);
      std::vector<std::uint32_t> all(job_->ranks.size());
      std::iota(all.begin(), all.end(), 0U);
      page_.emplace(*job_, all);
      both_ = {};
      both_.add(*writer_);
      both_.add(*page_);
      return &both_;
    };
  }

  /// @return the timeline of the page, PageTimeline::json()
  std::string finish(const SimulationResult& result) {
    if (!writer_) {
      return "null";
    }
    writer_->finish({.path = result.path_pieces});
    page_->light(result.path_pieces);
    return page_->json(result.step_ends);
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<Job> job_;
  std::optional<ChromeTraceWriter> writer_;
  std::optional<PageTimeline> page_;
  TimelineTee both_;
};

/// Why a change has changed nothing.
std::string nothing_changed(const replay::WhatIfSpec& change, const replay::Replay& replay) {
  for (const replay::RankRecording& rank : replay.ranks) {
    for (const std::uint32_t work : rank.communication) {
      const std::string& name = rank.trace.names.text(rank.trace.work[work].name);
      if (std::ranges::any_of(change.kernels, [&](const replay::KernelEdit& edit) {
            return replay::is_meant(edit, name, rank.families.origin(work)) ||
                   edit.match == KernelFamilies::kCommunication;
          })) {
        return "these communicate: what_if.communication or what_if.collectives changes them";
      }
    }
  }
  return "there is nothing of it in the traces";
}

/// Simulates the changes, and warns of a change that finds nothing to change.
std::vector<WhatIfResult> simulate_changes(const ReplayRun& run, const ReplayRun::Result& plain,
                                           const ResultFolder* folder) {
  std::vector<WhatIfResult> results;
  const std::vector<replay::NamedWhatIf> changes = replay::one_by_one(run.spec().what_if);
  for (const replay::NamedWhatIf& change : changes) {
    const bool is_last = &change == &changes.back();
    TimelineFile timeline{is_last ? folder : nullptr, kChanged};
    results.push_back({change.name, run.simulate(&change.edit, timeline.opener(), EngineMode::RunAhead)});
    ReplayRun::Result& result = results.back().result;
    if (result.remark.empty() && result.simulation.fingerprint == plain.simulation.fingerprint) {
      result.remark = nothing_changed(change.edit, run.replay());
    }
    (void)timeline.finish(result.simulation);
  }
  return results;
}

/// `cluster` and `collectives` as they were understood; empty without a cluster.
std::string machine_of(const ReplayRun& run, const YamlDocument& document, const ConfigPath& configs) {
  if (!run.spec().cluster) {
    return "";
  }
  YamlNode tree = effective_tree(type_of<ReplaySpec>(), document, configs);
  std::erase_if(tree.entries,
                [](const YamlEntry& entry) { return entry.key != "cluster" && entry.key != "collectives"; });
  return block_text(tree, [](const YamlNode& /*node*/) { return std::string{}; });
}

/// The Programs as recorded, with what was inferred, for other simulators.
Conversion write_traces(const ReplayRun& run, ResultFolder& folder, const std::string& machine) {
  std::vector<pytorch_et::ExecutionTrace> execution_traces;
  for (const std::string& file : run.spec().execution_traces) {
    execution_traces.push_back(pytorch_et::read_execution_trace(file));
  }
  return convert_into(folder, run.replay(), execution_traces, machine);
}

/// Any number of traces may stand on the command line, so that a KEY=VALUE without its --set is taken for
/// one.
/// @throws std::invalid_argument
void expect_no_assignments(const std::vector<std::string>& traces) {
  for (const std::string& trace : traces) {
    if (const std::string set = set_meant(trace); !set.empty() && !std::filesystem::exists(trace)) {
      throw std::invalid_argument{fmt::format("{}: no such file{}", trace, set)};
    }
  }
}

}  // namespace

int replay_command(const ReplayOptions& options) {
  expect_no_assignments(options.traces);
  const auto standard = ConfigPath::standard();
  const ConfigPath configs =
      options.edits.empty() ? standard : standard.beside(std::filesystem::path{options.edits}.parent_path());
  const YamlDocument document = document_of(options);
  const ReplayRun run{options.traces, document, configs};
  check_outputs({options.json});
  const std::unique_ptr<ResultFolder> timelines = folder_for(options.folder, is_of_replay);
  const std::unique_ptr<ResultFolder> chakra = folder_for(options.chakra, is_of_chakra);
  const Interruption interruption{[&timelines, &chakra] {
    remove_unfinished_files();
    for (const auto& folder : {timelines.get(), chakra.get()}) {
      if (folder != nullptr) {
        folder->abandon();
      }
    }
  }};
  TimelineFile timeline{timelines.get(), kTimeline};
  const ReplayRun::Result plain = run.simulate(nullptr, timeline.opener(), EngineMode::RunAhead);
  const std::string shown = timeline.finish(plain.simulation);
  const std::vector<WhatIfResult> changes = simulate_changes(run, plain, timelines.get());
  std::string converted;
  if (chakra) {
    converted = to_text(write_traces(run, *chakra, machine_of(run, document, configs)));
  }
  if (timelines) {
    write_whole_file(
        timelines->staged() / kReportPage,
        page_html({"replay", run.replay().ranks.front().trace.file, replay_sentence(run, plain, changes),
                   replay_json(run, plain, changes), shown}));
    timelines->commit();
    for (const std::string& name : options.quiet ? std::vector<std::string>{} : timelines->names()) {
      fmt::print(stderr, "{}: {}\n", name == kReportPage ? "look at it" : "timeline",
                 (timelines->path() / name).string());
    }
  }
  if (options.json == "-") {
    fmt::print("{}", replay_json(run, plain, changes));
    return 0;
  }
  if (!options.json.empty()) {
    write_whole_file(options.json, replay_json(run, plain, changes));
  }
  fmt::print("{}{}", replay_text(run, plain, changes, options.in_full), converted);
  return 0;
}

void add_replay_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ReplayOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("replay", "let a recorded trace take place again, and ask what if");
  command->footer(
      "examples:\n"
      "  lockstep replay traces/                                   a folder with the Kineto files of all "
      "ranks\n"
      "  lockstep replay traces/ --set what_if.cuda_graphs=true    without the cost of launches\n"
      "  lockstep replay rank0.json.gz --set cluster='dgx_a100 x 8' --set ranks=64\n"
      "  lockstep replay traces/ --set 'what_if.kernels=[{match: gemm, faster: 2}]' -o out");
  command->add_option("TRACE", options->traces, "Kineto traces of PyTorch's profiler, or folders of them")
      ->required();
  command->add_option("--edits", options->edits,
                      "YAML file with the keys of --set (lockstep explain what_if)");
  command
      ->add_option(
          "--set", *assignments,
          "KEY=VALUE: cluster, gpu, recorded_gpu, execution_traces, embedding_tables, ranks, collectives, "
          "kernel_families, what_if.*")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->folder,
                      "folder for timelines, of the replay and of the changes");
  command->add_option("--json", options->json, "everything as JSON; - for stdout instead of the tables");
  command->add_option("--chakra", options->chakra,
                      "folder for Chakra traces, one of each rank: every kernel on its stream");
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->add_flag("--full", options->in_full, "also streams, all steps, and the whole import report");
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return replay_command(*options);
    };
  });
}

}  // namespace lockstep
