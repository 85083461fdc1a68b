#include "traces/chakra/converted_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "traces/chakra/converted_program.hpp"
#include "traces/chakra/messages.hpp"
#include "traces/chakra/process_groups.hpp"
#include "traces/chakra/trace_files.hpp"

namespace lockstep::chakra {
namespace {

class ConvertedJobReader {
 public:
  ConvertedJobReader(TraceFiles files, ProcessGroups groups, ImportReport& report)
      : files_{std::move(files)}, process_groups_{std::move(groups)}, report_{report} {}

  Job read(std::span<const VertexId> gpus) && {
    for (std::uint32_t rank = 0; rank < files_.ranks(); ++rank) {
      RankAssignment assignment;
      if (const auto same = files_.same_as(rank); same && !messages_.contains(*same)) {
        assignment = job_.ranks[*same];
      } else {
        assignment = read_rank(rank);
      }
      for (const std::uint32_t group : assignment.groups) {
        expect_member(rank, group);
      }
      assignment.gpu = gpus[rank];
      job_.ranks.push_back(std::move(assignment));
    }
    for (const auto& [channel, ends] : channels_) {
      expect_pairs(channel, ends.first, ends.second, files_);
    }
    return std::move(job_);
  }

 private:
  RankAssignment read_rank(std::uint32_t rank) {
    ConvertedTrace trace = read_converted(files_.path(rank));
    trace.rank = rank;
    const ConvertedGraph graph = graph_of(trace);
    if (graph.entries.empty()) {
      throw InputError{{trace.file}, "the trace has no nodes"};
    }
    note_messages(trace, graph);
    ConvertedProgram made = program_of(trace, graph, [&](const std::string& name) {
      return static_cast<std::uint32_t>(job_.groups[group(trace, name)].ranks.size());
    });
    RankAssignment assignment;
    assignment.program = static_cast<std::uint32_t>(job_.programs.size());
    for (const std::string& name : made.groups) {
      const auto pair = made.message_groups.find(name);
      assignment.groups.push_back(pair == made.message_groups.end() ? group(trace, name)
                                                                    : group_of(name, pair->second));
    }
    job_.programs.push_back(std::make_shared<const Program>(std::move(made.program)));
    report_.merge(trace.report);
    return assignment;
  }

  /// In the order of the trace. Ranks that share a file have messages of their own.
  void note_messages(const ConvertedTrace& trace, const ConvertedGraph& graph) {
    for (const ConvertedGraph::Entry& entry : graph.entries) {
      if (entry.work == ConvertedWork::Message) {
        const ConvertedNode& node = trace.nodes[entry.node];
        const TraceTables::Call call = *message_of(node);
        auto& ends = channels_[channel_of(trace.rank, node.id, call, files_)];
        (call.kind == CollectiveKind::Send ? ends.first : ends.second).push_back({node.id, call.size});
        messages_.insert(trace.rank);
      }
    }
  }

  std::uint32_t group_of(const std::string& name, const std::vector<std::uint32_t>& ranks) {
    const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(job_.groups.size()));
    if (fresh) {
      job_.groups.push_back({name, ranks});
    }
    return entry->second;
  }

  /// @p name "": all ranks.
  std::uint32_t group(const ConvertedTrace& trace, const std::string& name) {
    const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(job_.groups.size()));
    if (fresh) {
      job_.groups.push_back({name.empty() ? "world" : name, ranks_of(trace, name)});
    }
    return entry->second;
  }

  [[nodiscard]] std::vector<std::uint32_t> ranks_of(const ConvertedTrace& trace,
                                                    const std::string& name) const {
    std::vector<std::uint32_t> all(files_.ranks());
    std::iota(all.begin(), all.end(), 0U);
    if (name.empty()) {
      return all;
    }
    if (const auto* const ranks = process_groups_.find(name)) {
      return *ranks;
    }
    const auto known = std::ranges::find(trace.groups, name, &kineto::ProcessGroupEntry::name);
    if (known == trace.groups.end()) {
      throw InputError{{trace.file},
                       fmt::format("a collective's process group (pg_name) is '{}', which neither the trace "
                                   "nor a file of process groups lists: trace: {{ groups: FILE }}",
                                   name)};
    }
    for (const std::uint32_t rank : known->ranks) {
      if (rank >= files_.ranks() || std::ranges::count(known->ranks, rank) > 1) {
        throw InputError{{trace.file},
                         fmt::format("process group '{}' lists rank {}: the job has ranks 0 to "
                                     "{}, each once",
                                     name, rank, files_.ranks() - 1)};
      }
    }
    return known->ranks.empty() ? all : known->ranks;
  }

  void expect_member(std::uint32_t rank, std::uint32_t number) const {
    const ProcessGroup& group = job_.groups[number];
    if (std::ranges::find(group.ranks, rank) == group.ranks.end()) {
      throw InputError{{files_.path(rank).string()},
                       fmt::format("rank {} calls a collective of process group '{}' without being a member",
                                   rank, group.name)};
    }
  }

  TraceFiles files_;
  ProcessGroups process_groups_;
  ImportReport& report_;
  std::map<std::string, std::uint32_t> numbers_;  // of groups, by pg_name
  std::map<Channel, std::pair<std::vector<MessageEnd>, std::vector<MessageEnd>>>
      channels_;                      // sends, receives
  std::set<std::uint32_t> messages_;  // ranks that have some
  Job job_;
};

}  // namespace

Job converted_job(const ChakraSpec& spec, const std::filesystem::path& folder, std::span<const VertexId> gpus,
                  ImportReport& report) {
  const std::size_t ranks = spec.ranks ? static_cast<std::size_t>(*spec.ranks) : gpus.size();
  if (ranks > gpus.size()) {
    throw std::invalid_argument{
        fmt::format("{} ranks were asked for, the cluster has {} GPUs", ranks, gpus.size())};
  }
  const auto count = static_cast<std::uint32_t>(ranks);
  ProcessGroups groups;
  if (spec.groups) {
    groups = ProcessGroups::from_file(folder / *spec.groups, count);
  }
  Job job =
      ConvertedJobReader{{(folder / spec.chakra).string(), count}, std::move(groups), report}.read(gpus);
  job.steps = spec.repeats;
  return job;
}

}  // namespace lockstep::chakra
