#include "sim/stall.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "sim/executor.hpp"

namespace lockstep {
namespace {

/// An actor by rank and number, as Rank counts them.
using Who = std::pair<std::uint32_t, unsigned>;

struct Reason {
  std::string text;
  std::optional<Who> because_of;
};

std::string missing_members(const Communicator& group, const Meeting& meeting,
                            std::optional<std::uint32_t>& first) {
  std::string list;
  std::size_t missing = 0;
  for (std::size_t position = 0; position < meeting.arrivals.size(); ++position) {
    if (meeting.arrivals[position].rank == nullptr && ++missing <= 8) {
      first = first ? first : group.ranks()[position];
      list += fmt::format("{}{}", list.empty() ? "" : ", ", group.ranks()[position]);
    }
  }
  return missing > 8 ? fmt::format("{} and {} more", list, missing - 8) : list;
}

/// The first stuck actor of a rank: a stream if any, because threads usually wait for streams.
std::optional<unsigned> first_stuck(const Rank& rank) {
  for (unsigned actor = 0; actor < rank.actors(); ++actor) {
    if (!rank.finished(actor)) {
      const bool idle_stream = actor < rank.streams().size() && rank.streams()[actor].backlog() == 0;
      if (!idle_stream) {
        return actor;
      }
    }
  }
  return std::nullopt;
}

Reason in_collective(const Executor& executor, Rank& rank, const Stream& stream) {
  const Instruction& instruction = rank.instruction_of(stream.head());
  const CollectiveCall& call = rank.call_of(instruction);
  const Communicator& group = *rank.membership(call).group;
  for (const auto& meeting : group.meetings()) {
    for (const Arrival& arrival : meeting->arrivals) {
      if (arrival.rank == &rank && arrival.call == &call) {
        std::optional<std::uint32_t> absent;
        const std::string missing = missing_members(group, *meeting, absent);
        Reason reason{fmt::format("is in {} {} of group '{}': {} of {} members have arrived, missing rank {}",
                                  to_string(call.kind), meeting->number, group.name(), meeting->arrived,
                                  group.size(), missing),
                      std::nullopt};
        if (absent) {
          const auto stuck = first_stuck(executor.ranks()[*absent]);
          if (stuck) {
            reason.because_of = Who{*absent, *stuck};
          } else {
            reason.text += fmt::format("; rank {} has finished its program without it", *absent);
          }
        }
        return reason;
      }
    }
  }
  return {"is in a transfer that never ends", std::nullopt};
}

Reason why(const Executor& executor, Rank& rank, unsigned actor) {
  if (actor < rank.streams().size()) {
    const Stream& stream = rank.streams()[actor];
    switch (stream.state()) {
      case Stream::State::InCollective:
        return in_collective(executor, rank, stream);
      case Stream::State::AwaitsEvent:
        return {"waits for an event", Who{rank.number(), rank.events().stream(stream.head().ticket)}};
      default:
        return {"has work that does not begin", std::nullopt};
    }
  }
  const auto number = actor - static_cast<unsigned>(rank.streams().size());
  const HostThread& thread = rank.threads()[number];
  const Instruction& instruction = rank.program().threads[number].instructions[thread.next()];
  if (instruction.op == Opcode::Await) {
    return {"waits for a flag that no thread posts", std::nullopt};
  }
  if (!thread.awaited().empty()) {
    return {"waits for the GPU", Who{rank.number(), rank.events().stream(thread.awaited().back())}};
  }
  return {"waits for room in the launch queue", Who{rank.number(), instruction.stream}};
}

}  // namespace

std::string explain_stall(Executor& executor) {
  std::string text = "the simulated job cannot go on:";
  std::optional<Who> who;
  for (const Rank& rank : executor.ranks()) {
    if (const auto stuck = first_stuck(rank); stuck && !who) {
      who = Who{rank.number(), *stuck};
    }
  }
  std::set<Who> seen;
  while (who && seen.insert(*who).second) {
    Rank& rank = executor.ranks()[who->first];
    const Reason reason = why(executor, rank, who->second);
    text += fmt::format("\n  {} {}", rank.actor_name(who->second), reason.text);
    who = reason.because_of;
  }
  if (who) {
    text += fmt::format("\n  and so round again to {}", executor.ranks()[who->first].actor_name(who->second));
  }
  return text;
}

}  // namespace lockstep
