#include "traces/timeline_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

std::string million(std::uint64_t events) {
  return fmt::format("{:.3g} million", static_cast<double>(events) * 1e-6);
}

}  // namespace

std::uint64_t events_of_step(const Program& program) {
  constexpr std::uint64_t kLaunch = 4;  // call, kernel, and the ends of an arrow
  std::uint64_t events = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      switch (instruction.op) {
        case Opcode::Launch:
        case Opcode::Collective:
          events += kLaunch;
          break;
        case Opcode::RangeEnd:
        case Opcode::Post:
        case Opcode::StartLag:
          break;
        default:
          ++events;
      }
    }
  }
  return events;
}

TimelinePart part_within(const Job& job, std::span<const std::uint32_t> ranks, std::uint64_t most_events) {
  std::map<std::uint32_t, std::uint64_t> of_program;
  const auto events_of = [&](std::uint32_t rank) {
    const std::uint32_t program = job.ranks[rank].program;
    const auto [place, fresh] = of_program.try_emplace(program, 0);
    if (fresh) {
      place->second = events_of_step(*job.programs[program]);
    }
    return place->second;
  };
  std::uint64_t of_step = 0;
  for (const std::uint32_t rank : ranks) {
    of_step += events_of(rank);
  }
  const auto steps = static_cast<std::uint64_t>(job.steps);
  TimelinePart part{{ranks.begin(), ranks.end()}, 0, of_step * steps, of_step * steps};
  if (part.events <= most_events) {
    return part;
  }
  const std::uint64_t shown_steps =
      std::clamp<std::uint64_t>(most_events / std::max<std::uint64_t>(of_step, 1), 1, steps);
  part.first_step = static_cast<std::uint32_t>(steps - shown_steps);
  part.events = of_step * shown_steps;
  for (std::size_t count = ranks.size(); part.events > most_events && count > 1;) {
    count = std::min<std::size_t>(count - 1, std::max<std::uint64_t>(1, count * most_events / part.events));
    part.ranks.clear();
    part.events = 0;
    for (std::size_t i = 0; i < count; ++i) {
      part.ranks.push_back(ranks[i * ranks.size() / count]);
      part.events += events_of(part.ranks.back()) * shown_steps;
    }
  }
  part.left_out =
      fmt::format("{} of {} events: of {} of {} ranks, the last {} of {} steps", million(part.events),
                  million(part.all_events), part.ranks.size(), ranks.size(), shown_steps, steps);
  return part;
}

}  // namespace lockstep
