#include "traces/chakra/collective_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace lockstep::chakra {
namespace {

/// One member's view of a group.
struct Member {
  std::uint32_t rank;
  std::uint32_t program;
  std::uint32_t group;  ///< how-manieth of the rank's groups; as many as it has: not among them
};

class OrderCheck {
 public:
  OrderCheck(std::span<const TraceGraph* const> graphs, const TraceTables& tables, const TraceFiles& files)
      : graphs_{graphs}, tables_{tables}, files_{files} {}

  /// Programs are compared once, not every pair of ranks that run them.
  void compare(const std::string& group, const Member& first, const Member& other) {
    const bool are_alike = first.program == other.program && first.group == other.group;
    if (are_alike || !compared_.emplace(first.program, first.group, other.program, other.group).second) {
      return;
    }
    const std::vector<std::uint32_t> theirs = nodes(first);
    const std::vector<std::uint32_t> mine = nodes(other);
    if (theirs.size() != mine.size()) {
      reject(group, first, other,
             fmt::format("rank {} calls {} of its collectives, rank {} ({}) {}", other.rank, mine.size(),
                         first.rank, files_.path(first.rank).string(), theirs.size()));
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto a = graph(first).call(theirs[i]);
      const auto b = graph(other).call(mine[i]);
      if (tables_.call(a).kind != tables_.call(b).kind || tables_.call(a).size != tables_.call(b).size) {
        reject(group, first, other,
               fmt::format("collective {} of rank {} is {}, of rank {} ({}) {}", i + 1, other.rank,
                           described(other, mine[i]), first.rank, files_.path(first.rank).string(),
                           described(first, theirs[i])));
      }
    }
  }

 private:
  [[nodiscard]] const TraceGraph& graph(const Member& member) const { return *graphs_[member.program]; }

  /// The member's collectives of the group, in order.
  [[nodiscard]] std::vector<std::uint32_t> nodes(const Member& member) const {
    std::vector<std::uint32_t> found;
    const TraceGraph& trace = graph(member);
    for (std::uint32_t node = 0; node < trace.size(); ++node) {
      if (trace.is_collective(node) && !tables_.call(trace.call(node)).is_message() &&
          tables_.call(trace.call(node)).group == member.group) {
        found.push_back(node);
      }
    }
    return found;
  }

  [[nodiscard]] std::string described(const Member& member, std::uint32_t node) const {
    const TraceTables::Call& call = tables_.call(graph(member).call(node));
    return fmt::format("{} of {} B (node {})", to_string(call.kind), call.size, graph(member).ids[node]);
  }

  [[noreturn]] void reject(const std::string& group, const Member& /*first*/, const Member& other,
                           const std::string& why) const {
    throw InputError{
        {files_.path(other.rank).string()},
        fmt::format("group '{}': {}; all members call the same collectives in the same order", group, why)};
  }

  std::span<const TraceGraph* const> graphs_;
  const TraceTables& tables_;
  const TraceFiles& files_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> compared_;
};

}  // namespace

void check_collective_order(const Job& job, std::span<const TraceGraph* const> graphs,
                            const TraceTables& tables, const TraceFiles& files) {
  OrderCheck check{graphs, tables, files};
  for (std::uint32_t group = 0; group < job.groups.size(); ++group) {
    const std::vector<std::uint32_t>& ranks = job.groups[group].ranks;
    const auto member = [&](std::uint32_t rank) {
      const auto& groups = job.ranks[rank].groups;
      const auto place = std::find(groups.begin(), groups.end(), group) - groups.begin();
      return Member{rank, job.ranks[rank].program, static_cast<std::uint32_t>(place)};
    };
    for (const std::uint32_t rank : ranks) {
      check.compare(job.groups[group].name, member(ranks.front()), member(rank));
    }
  }
}

}  // namespace lockstep::chakra
