#include "traces/chakra/chakra_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "base/error.hpp"
#include "traces/chakra/collective_order.hpp"
#include "traces/chakra/converted_job.hpp"
#include "traces/chakra/converted_nodes.hpp"
#include "traces/chakra/messages.hpp"
#include "traces/chakra/process_groups.hpp"
#include "traces/chakra/program_job.hpp"
#include "traces/chakra/program_trace.hpp"
#include "traces/chakra/rank_shapes.hpp"
#include "traces/chakra/read_ahead.hpp"
#include "traces/chakra/trace_files.hpp"

namespace lockstep {
namespace chakra {
namespace {

/// Reads the traces, rank by rank, and finds out which are alike.
class JobReader {
 public:
  JobReader(TraceFiles files, ProcessGroups groups, std::span<const NodeRates> rates, ImportReport& report)
      : files_{std::move(files)}, process_groups_{std::move(groups)}, rates_{rates}, report_{report} {}

  [[nodiscard]] Job read(std::span<const VertexId> gpus) && {
    std::vector<std::filesystem::path> different;
    std::vector<std::optional<std::uint32_t>> same;
    for (std::uint32_t rank = 0; rank < files_.ranks(); ++rank) {
      same.push_back(files_.same_as(rank));
      if (!same.back()) {
        different.push_back(files_.path(rank));
      }
    }
    ReadAhead traces{std::move(different), std::thread::hardware_concurrency()};
    for (std::uint32_t rank = 0; rank < files_.ranks(); ++rank) {
      job_.ranks.emplace_back().gpu = gpus[rank];
      if (same[rank]) {
        read_as(rank, *same[rank]);
      } else {
        take(rank, traces.next(tables_));
      }
    }
    add_messaging_ranks();
    check_order();
    finish();
    return std::move(job_);
  }

 private:
  void take(std::uint32_t rank, const TraceGraph& graph) {
    if (graph.size() == 0) {
      throw InputError{{files_.path(rank).string()}, "the trace has no nodes"};
    }
    report_odd(graph, report_);
    expect_rates(rank, graph);
    RankAssignment& assignment = job_.ranks[rank];
    assignment.groups = groups_of(rank, graph.groups);
    if (graph.has_messages) {
      messaging_.push_back({rank, graph, {}});
      durations_.push_back(0);
      return;
    }
    std::vector<std::uint32_t> sizes;
    for (const std::uint32_t group : assignment.groups) {
      sizes.push_back(static_cast<std::uint32_t>(job_.groups[group].ranks.size()));
    }
    assignment.program = shape_of(graph, std::move(sizes), rates_of(rank));
    durations_.push_back(shapes_[assignment.program].add_durations(graph));
  }

  /// The same file as that of an earlier rank: only groups are the rank's own.
  void read_as(std::uint32_t rank, std::uint32_t same) {
    RankAssignment& assignment = job_.ranks[rank];
    assignment.program = job_.ranks[same].program;
    durations_.push_back(durations_[same]);
    const auto other = std::ranges::find(messaging_, same, &MessagingRank::rank);
    if (other != messaging_.end()) {
      MessagingRank own = *other;
      own.rank = rank;
      messaging_.push_back(std::move(own));
    }
    for (const std::uint32_t group : job_.ranks[same].groups) {
      expect_member(rank, group);
    }
    assignment.groups = job_.ranks[same].groups;
  }

  /// The shape of a graph, known or new. Mostly it is that of the rank before.
  std::uint32_t shape_of(const TraceGraph& graph, std::vector<std::uint32_t> group_sizes,
                         const NodeRates& rates) {
    if (latest_ < shapes_.size() && shapes_[latest_].fits(graph, group_sizes, rates)) {
      return latest_;
    }
    const std::size_t hash = hash_of(graph);
    const auto [begin, end] = by_hash_.equal_range(hash);
    const auto known = std::find_if(
        begin, end, [&](auto& entry) { return shapes_[entry.second].fits(graph, group_sizes, rates); });
    if (known != end) {
      return latest_ = known->second;
    }
    latest_ = static_cast<std::uint32_t>(shapes_.size());
    by_hash_.emplace(hash, latest_);
    shapes_.emplace_back(graph, RankCalls{std::move(group_sizes), {}, {}}, rates);
    return latest_;
  }

  [[nodiscard]] NodeRates rates_of(std::uint32_t rank) const {
    return rates_.empty() ? NodeRates{} : rates_[rank];
  }

  void expect_rates(std::uint32_t rank, const TraceGraph& graph) const {
    for (std::size_t node = 0; node < graph.size() && rates_.empty(); ++node) {
      if (graph.is_derived(node)) {
        throw InputError{
            {files_.path(rank).string()},
            fmt::format("node {} has operations in place of a duration (duration_micros), and no "
                        "GPU is known to time them on",
                        graph.ids[node])};
      }
    }
  }

  /// A Program each, once their messages have met.
  void add_messaging_ranks() {
    meet_messages(messaging_, tables_, files_);
    for (MessagingRank& member : messaging_) {
      RankAssignment& assignment = job_.ranks[member.rank];
      RankCalls calls;
      for (const std::uint32_t group : assignment.groups) {
        calls.group_sizes.push_back(static_cast<std::uint32_t>(job_.groups[group].ranks.size()));
      }
      add_pairs(member, calls, assignment.groups);
      calls.posts = std::move(member.posts);
      assignment.program = static_cast<std::uint32_t>(shapes_.size());
      shapes_.emplace_back(std::move(member.graph), std::move(calls), rates_of(member.rank));
      durations_[member.rank] = shapes_.back().add_durations(shapes_.back().graph());
    }
  }

  /// The groups of two that a rank's messages go through.
  void add_pairs(const MessagingRank& member, RankCalls& calls, std::vector<std::uint32_t>& groups) {
    for (std::uint32_t node = 0; node < member.graph.size(); ++node) {
      if (!member.graph.is_collective(node) || !tables_.call(member.graph.call(node)).is_message()) {
        continue;
      }
      const std::uint32_t peer = peer_of(tables_.call(member.graph.call(node)));
      if (std::ranges::find(calls.pairs, peer, &RankCalls::Pair::peer) != calls.pairs.end()) {
        continue;
      }
      const auto [low, high] = std::minmax(member.rank, peer);
      const auto [entry, fresh] =
          pair_numbers_.try_emplace({low, high}, static_cast<std::uint32_t>(job_.groups.size()));
      if (fresh) {
        job_.groups.push_back({fmt::format("ranks {} and {}", low, high), {low, high}});
      }
      groups.push_back(entry->second);
      calls.pairs.push_back({peer, peer == low ? 0 : 1, job_.groups[entry->second].name});
    }
  }

  static std::size_t hash_of(const TraceGraph& graph) {
    std::size_t hash = graph.size();
    const auto mix = [&](const std::vector<std::uint32_t>& values) {
      for (const std::uint32_t value : values) {
        hash = (hash ^ value) * 0x100000001b3ULL;  // FNV-1a, a word at a time
      }
    };
    mix(graph.what);
    mix(graph.dependencies);
    return hash;
  }

  std::vector<std::uint32_t> groups_of(std::uint32_t rank, const std::vector<std::string>& names) {
    std::vector<std::uint32_t> groups;
    for (const std::string& name : names) {
      groups.push_back(group(rank, name));
      expect_member(rank, groups.back());
    }
    return groups;
  }

  std::uint32_t group(std::uint32_t rank, const std::string& name) {
    const auto [entry, fresh] =
        group_numbers_.try_emplace(name, static_cast<std::uint32_t>(job_.groups.size()));
    if (!fresh) {
      return entry->second;
    }
    if (name.empty()) {
      std::vector<std::uint32_t> all(files_.ranks());
      std::iota(all.begin(), all.end(), 0U);
      job_.groups.push_back({"world", std::move(all)});
    } else if (const auto* ranks = process_groups_.find(name)) {
      job_.groups.push_back({name, *ranks});
    } else {
      throw InputError{
          {files_.path(rank).string()},
          fmt::format("a collective's process group (pg_name) is '{}', which the file of process groups does "
                      "not list: trace: {{ groups: FILE }}",
                      name)};
    }
    sorted_members_.push_back(job_.groups.back().ranks);
    std::sort(sorted_members_.back().begin(), sorted_members_.back().end());
    return entry->second;
  }

  void expect_member(std::uint32_t rank, std::uint32_t group) const {
    const auto& members = sorted_members_[group];
    if (!std::binary_search(members.begin(), members.end(), rank)) {
      throw InputError{{files_.path(rank).string()},
                       fmt::format("rank {} calls a collective of process group '{}' without being a member",
                                   rank, job_.groups[group].name)};
    }
  }

  void check_order() {
    std::vector<const TraceGraph*> graphs;
    for (const RankShape& shape : shapes_) {
      graphs.push_back(&shape.graph());
    }
    check_collective_order(job_, graphs, tables_, files_);
  }

  void finish() {
    std::vector<std::vector<std::vector<std::uint32_t>>> slots;
    for (RankShape& shape : shapes_) {
      RankShape::Result result = std::move(shape).finish(tables_);
      job_.programs.push_back(std::make_shared<const Program>(std::move(result.program)));
      slots.push_back(std::move(result.slots));
    }
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      job_.ranks[rank].kernel_slots = slots[job_.ranks[rank].program][durations_[rank]];
    }
  }

  TraceFiles files_;
  ProcessGroups process_groups_;
  std::span<const NodeRates> rates_;  // by rank
  ImportReport& report_;
  TraceTables tables_;
  std::vector<RankShape> shapes_;  // by program
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
  std::uint32_t latest_ = 0;
  std::vector<std::uint32_t> durations_;  // by rank: which durations of its shape
  std::vector<MessagingRank> messaging_;  // by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> pair_numbers_;
  std::map<std::string, std::uint32_t> group_numbers_;
  std::vector<std::vector<std::uint32_t>> sorted_members_;  // by group of the job
  Job job_;
};

}  // namespace
}  // namespace chakra

Job chakra_job(const ChakraSpec& spec, const std::filesystem::path& folder, std::span<const VertexId> gpus,
               std::span<const chakra::NodeRates> rates, ImportReport* report) {
  ImportReport unasked;
  ImportReport& odd = report != nullptr ? *report : unasked;
  if (chakra::kind_of_traces(spec, folder) != chakra::TraceKind::Graph) {
    return chakra::program_job(spec, folder, gpus);
  }
  if (chakra::is_converted(chakra::TraceFiles{(folder / spec.chakra).string(), 1}.path(0))) {
    return chakra::converted_job(spec, folder, gpus, odd);
  }
  const auto ranks = spec.ranks ? static_cast<std::size_t>(*spec.ranks) : gpus.size();
  if (ranks > gpus.size()) {
    throw std::invalid_argument{
        fmt::format("{} ranks were asked for, the cluster has {} GPUs", ranks, gpus.size())};
  }
  const auto count = static_cast<std::uint32_t>(ranks);
  chakra::ProcessGroups groups;
  if (spec.groups) {
    groups = chakra::ProcessGroups::from_file(folder / *spec.groups, count);
  }
  Job job =
      chakra::JobReader{{(folder / spec.chakra).string(), count}, std::move(groups), rates, odd}.read(gpus);
  job.steps = spec.repeats;
  return job;
}

}  // namespace lockstep
