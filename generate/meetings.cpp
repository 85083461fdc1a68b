#include "generate/meetings.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::generate {

Transfers::Transfers(const Job& job, std::span<const std::uint32_t> ranks, const MeetingRecorder& meetings)
    : meetings_{meetings} {
  for (const std::uint32_t rank : ranks) add_rank(job, rank);
}

double Transfers::at(const Place& place) const {
  return std::max(meetings_.at(place).ended - last_arrivals_.at(keys_.at(place)), 0.0);
}

void Transfers::add_rank(const Job& job, std::uint32_t rank) {
  constexpr std::uint32_t kAll = ~0U;  // no message
  const RankAssignment& own = job.ranks[rank];
  const Program& program = *job.programs[own.program];
  std::map<Key, std::uint32_t> count;
  for (std::uint32_t thread = 0; thread < program.threads.size(); ++thread) {
    const auto& code = program.threads[thread].instructions;
    for (std::uint32_t at = 0; at < code.size(); ++at) {
      if (code[at].op != Opcode::Collective) continue;
      const std::uint32_t number =
          code[at].per_rank ? own.collective_slots[code[at].operand] : code[at].operand;
      const CollectiveCall& call = program.collectives[number];
      const std::uint32_t group = own.groups[call.group];
      std::uint32_t from = kAll;
      std::uint32_t to = kAll;
      if (is_message(call)) {
        from = rank;
        to = job.groups[group].ranks[static_cast<std::size_t>(call.peer)];
        if (call.kind == CollectiveKind::Receive) std::swap(from, to);
      }
      const Key key{group, from, to, count[{group, from, to, 0}]++};
      const Place place{rank, thread, at};
      keys_[place] = key;
      double& last = last_arrivals_[key];
      last = std::max(last, meetings_.at(place).arrived);
    }
  }
}

}  // namespace lockstep::generate
