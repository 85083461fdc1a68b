#include "app/trace_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "traces/chakra/job_writer.hpp"
#include "traces/replay/recorded_notes.hpp"

namespace lockstep {
namespace {

constexpr double kMega = 1e6;

/// Pairs of what a stream was told to wait for and what it began next.
std::uint64_t edges_between_streams(const replay::RankRecording& rank) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const replay::StreamWait& wait : rank.stream_waits) {
    const replay::Lane& lane = rank.links.lanes[wait.lane];
    const auto first = rank.links.issued.begin() + lane.first;
    const auto last = rank.links.issued.begin() + lane.last;
    const auto next = std::lower_bound(first, last, rank.trace.calls[wait.call].start);
    if (next != last) {
      edges.emplace(wait.work, static_cast<std::uint32_t>(next - rank.links.issued.begin()));
    }
  }
  return edges.size();
}

RankConversion recorded_in(const replay::RankRecording& rank) {
  RankConversion made;
  made.trace = rank.trace.file;
  for (const replay::Lane& lane : rank.links.lanes) {
    made.stream_work.push_back(lane.last - lane.first);
  }
  made.collectives = rank.collectives.size();
  made.operators = static_cast<std::uint64_t>(std::ranges::count_if(
      rank.trace.operators, [&](const kineto::Operator& op) { return rank.links.is_worker[op.thread]; }));
  made.launches = rank.trace.work.size();
  made.stream_waits = rank.stream_waits.size();
  made.stream_edges = edges_between_streams(rank);
  // The main thread sees the end of everything.
  made.host_waits = rank.host_waits.size() + rank.silent.waits.size() + 1;
  return made;
}

std::string of(std::uint64_t written, std::uint64_t recorded) {
  return fmt::format("{} of {}", written, recorded);
}

std::string streams_text(const RankConversion& rank) {
  std::string text;
  for (std::size_t i = 0; i < rank.stream_work.size(); ++i) {
    const chakra::NodeCounts::Stream& stream = rank.written.streams[i];
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", stream.name, of(stream.work, rank.stream_work[i]));
  }
  return text;
}

std::string scenario_of(const Job& job, const ConversionTarget& target, const ChakraFiles& files) {
  constexpr std::size_t kGpusOfNode = 8;  // DGX A100
  const std::size_t ranks = job.ranks.size();
  std::string text = fmt::format(
      "# The traces beside this file (lockstep import, lockstep replay).\nname: Replay of {} ranks\n", ranks);
  text += target.machine.empty()
              ? fmt::format(
                    "# Kernels and collectives take their recorded times: any GPUs will do.\ncluster: "
                    "dgx_a100 x {}\n",
                    (ranks + kGpusOfNode - 1) / kGpusOfNode)
              : target.machine;
  text += fmt::format("trace:\n  chakra: {}\n  ranks: {}\n", files.name_of("%d"), ranks);
  text += job.groups.empty() ? "" : fmt::format("  groups: {}\n", files.name_of_groups());
  return text;
}

}  // namespace

Conversion convert(const replay::Replay& replay, std::span<const pytorch_et::ExecutionTrace> execution_traces,
                   const ConversionTarget& target) {
  Conversion made;
  made.folder = target.folder;
  made.ranks = static_cast<std::uint32_t>(replay.job.ranks.size());
  try {
    const replay::RecordedNotes recorded{replay, execution_traces};
    const chakra::NodeNotes notes = recorded.notes();
    const std::vector<GpuSpec> gpus(1);  // recorded durations need no model
    const std::vector<std::uint32_t> of_rank(made.ranks, 0);
    const ChakraFiles files{target.folder, "rank", false};
    made.bytes =
        write_chakra({&replay.job, gpus, of_rank, false, &notes}, files, [](std::uint32_t) {}).nodes_bytes;
    for (std::size_t i = 0; i < replay.ranks.size(); ++i) {
      made.traces.push_back(recorded_in(replay.ranks[i]));
      made.traces.back().written = chakra::count_nodes(target.folder / files.name_of(fmt::format("{}", i)));
    }
    write_whole_file(target.folder / "scenario.yaml", scenario_of(replay.job, target, files));
  } catch (const std::invalid_argument& problem) {
    throw InputError{{target.folder.string()}, problem.what()};
  }
  return made;
}

Conversion convert_into(ResultFolder& folder, const replay::Replay& replay,
                        std::span<const pytorch_et::ExecutionTrace> execution_traces,
                        const std::string& machine) {
  Conversion made = convert(replay, execution_traces, {folder.staged(), machine});
  made.folder = folder.path();
  folder.commit();
  return made;
}

bool is_of_chakra(const std::string& name) {
  return name == "scenario.yaml" ||
         (name.starts_with("rank.") &&
          (name.ends_with(".et") || name.ends_with(".et.gz") || name == "rank.groups.json"));
}

std::string to_text(const Conversion& conversion) {
  std::string text = fmt::format(
      "\nChakra traces of {} ranks ({:.1f} MB) in {}: written of what was recorded\n", conversion.ranks,
      static_cast<double>(conversion.bytes) / kMega, conversion.folder.string());
  for (const RankConversion& rank : conversion.traces) {
    const chakra::NodeCounts& written = rank.written;
    text += fmt::format("  {}\n    GPU work          {}\n    launches          {}\n", rank.trace,
                        streams_text(rank), of(written.launches, rank.launches));
    text += fmt::format("    collectives       {}\n", of(written.collectives, rank.collectives));
    text +=
        fmt::format("    waits of streams  {}, {} dependencies between streams\n",
                    of(written.stream_waits, rank.stream_waits), of(written.stream_edges, rank.stream_edges));
    text += fmt::format(
        "    waits of the host {}, {} dependencies on the GPU; between threads {}, {} dependencies\n",
        of(written.host_waits, rank.host_waits), written.host_edges, written.thread_waits,
        written.thread_edges);
    text += fmt::format(
        "    host operators    {}, arguments of {} from the execution trace, of {} from the profile\n",
        of(written.operators, rank.operators), written.from_execution_trace, written.from_profile);
  }
  return text;
}

}  // namespace lockstep
