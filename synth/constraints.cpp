#include "synth/constraints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "synth/tokens.hpp"

namespace lockstep::synth {
namespace {

/// Collectives that a rank calls in one of its groups, in launch order, without messages.
struct GroupCalls {
  std::vector<std::string> calls;
  std::set<std::uint8_t> threads;  ///< that make them
};

std::map<std::uint32_t, GroupCalls> calls_of(const Program& program, const RankAssignment& rank) {
  std::map<std::uint32_t, GroupCalls> groups;
  for (const Token& token : tokens_of(program)) {
    if (token.op != Opcode::Collective) continue;
    const CollectiveCall& call =
        program.collectives[token.per_rank ? rank.collective_slots[token.operand] : token.operand];
    if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive) continue;
    const bool is_uneven = call.kind == CollectiveKind::AllToAll;
    GroupCalls& group = groups[rank.groups[call.group]];
    group.threads.insert(token.thread);
    group.calls.push_back(
        is_uneven ? to_string(call.kind)
                  : fmt::format("{} of {:.0f} bytes", to_string(call.kind), call.size.in_base_units()));
  }
  return groups;
}

/// Whether two members call the same. The order of several threads is not in a Program, only in a run: it
/// counts where both members call from one thread.
bool is_same(GroupCalls a, GroupCalls b) {
  if (a.threads.size() > 1 || b.threads.size() > 1) {
    std::ranges::sort(a.calls);
    std::ranges::sort(b.calls);
  }
  return a.calls == b.calls;
}

/// Describes the first call in which two lists differ.
std::string difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t call = 0;
  while (call < a.size() && call < b.size() && a[call] == b[call]) ++call;
  const auto text = [call](const std::vector<std::string>& calls) {
    return call < calls.size() ? calls[call] : std::string{"nothing"};
  };
  return fmt::format("call {} is {} on one and {} on another", call + 1, text(a), text(b));
}

}  // namespace

std::string conflict_of(const Job& job) {
  // Calls of a member by group; one member is checked for each kind of rank.
  std::map<std::uint32_t, GroupCalls> known;
  std::set<std::pair<std::uint32_t, std::vector<std::uint32_t>>> seen;
  for (const RankAssignment& rank : job.ranks) {
    if (!seen.emplace(rank.program, rank.groups).second && rank.collective_slots.empty()) continue;
    for (auto& [group, calls] : calls_of(*job.programs[rank.program], rank)) {
      const auto [first, fresh] = known.try_emplace(group, calls);
      if (!fresh && !is_same(first->second, calls)) {
        return fmt::format("members of {} do not call the same: {}", job.groups[group].name,
                           difference(first->second.calls, calls.calls));
      }
    }
  }
  return {};
}

}  // namespace lockstep::synth
