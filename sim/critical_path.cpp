#include "sim/critical_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ops/kernel_model.hpp"
#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {
namespace {

/// A point of the path: something that ended, and whose reason to have begun is looked for next.
struct Place {
  std::uint32_t rank = 0;
  bool on_host = false;
  std::uint8_t lane = 0;
  std::uint32_t entry = 0;
};

/// The name of the innermost range around each instruction of a thread.
std::vector<std::uint32_t> enclosing_ranges(const Program::Thread& thread) {
  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> names;
  std::vector<std::uint32_t> open;
  for (const Instruction& instruction : thread.instructions) {
    if (instruction.op == Opcode::RangeBegin) {
      open.push_back(instruction.operand);
    }
    names.push_back(open.empty() ? kNone : open.back());
    if (instruction.op == Opcode::RangeEnd) {
      open.pop_back();
    }
  }
  return names;
}

class Walk {
 public:
  explicit Walk(const Executor& executor) : executor_{executor} {}

  std::vector<CriticalShare> from_the_end() {
    for (std::optional<Place> at = latest(); at;) {
      at = at->on_host ? host(*at) : stream(*at);
    }
    std::vector<CriticalShare> shares;
    for (auto& [what, share] : shares_) {
      shares.push_back(std::move(share));
    }
    std::stable_sort(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.seconds > b.seconds; });
    return shares;
  }

 private:
  /// What happened on any rank happened on the one that was simulated for it.
  const Rank& rank(std::uint32_t number) const { return executor_.rank_for(number); }

  std::optional<Place> latest() const {
    std::optional<Place> last;
    double end = -1;
    for (const Rank& rank : executor_.ranks()) {
      const RankLog& log = *rank.log;
      for (std::size_t lane = 0; lane < log.streams.size(); ++lane) {
        const auto& entries = log.streams[lane].entries;
        if (!entries.empty() && entries.back().end > end) {
          end = entries.back().end;
          last = Place{rank.number(), false, static_cast<std::uint8_t>(lane),
                       static_cast<std::uint32_t>(entries.size() - 1)};
        }
      }
      for (std::size_t lane = 0; lane < log.instruction_ends.size(); ++lane) {
        const auto& ends = log.instruction_ends[lane];
        if (!ends.empty() && ends.back() > end) {
          end = ends.back();
          last = Place{rank.number(), true, static_cast<std::uint8_t>(lane),
                       static_cast<std::uint32_t>(ends.size() - 1)};
        }
      }
    }
    return last;
  }

  void charge(const std::string& what, PathPart part, double seconds) {
    if (seconds > 0) {
      CriticalShare& share = shares_[what];
      share.what = what;
      share.part = part;
      share.seconds += seconds;
      ++share.pieces;
    }
  }

  /// Adds to the prediction behind a share. Equal ones have the same @p size: of a kernel, its duration; of a
  /// collective, its bytes. Made by @p make at its first piece.
  template <class Make>
  void rest_on(const std::string& what, double size, double seconds, const Make& make) {
    if (seconds > 0) {
      std::vector<PathPrediction>& predictions = shares_[what].predictions;
      const auto [place, fresh] = places_.try_emplace({what, size}, predictions.size());
      if (fresh) {
        predictions.push_back(make());
      }
      predictions[place->second].seconds += seconds;
    }
  }

  void charge_kernel(const Rank& owner, const Instruction& instruction, double seconds) {
    const std::uint32_t kernel = owner.kernel_of(instruction);
    const KernelCall& call = owner.program().kernels[kernel];
    const KernelTiming& timing = owner.timing_of(kernel);
    charge(call.name, PathPart::Kernel, seconds);
    rest_on(call.name, timing.seconds, seconds, [&] {
      const std::string model = model_for(call).name();
      return PathPrediction{model.substr(0, model.find(':')), 0, timing.band, timing.provenance};
    });
  }

  void charge_collective(std::uint32_t number, const CollectiveCall& call, double seconds) {
    const std::string what = to_string(call.kind);
    charge(what, PathPart::Collective, seconds);
    const Planned planned = planned_for(number, call);
    if (planned.plan == nullptr) {
      return;
    }
    shares_[what].bottleneck = bottleneck(*planned.loads, *planned.plan);
    rest_on(what, planned.plan->size.in_base_units(), seconds, [&] {
      return PathPrediction{planned.plan->algorithm + " " + planned.plan->protocol, 0, planned.plan->band,
                            planned.plan->provenance};
    });
  }

  std::optional<Place> stream(const Place& place) {
    const Rank& owner = rank(place.rank);
    const LogEntry* entry = &owner.log->streams[place.lane].entries[place.entry];
    const Instruction& instruction = owner.instruction_of({0, entry->where, 0});
    if (instruction.op != Opcode::Collective) {
      charge_kernel(owner, instruction, entry->end - entry->start);
      return cause_of(place.rank, *entry);
    }
    const CollectiveCall& call = call_of(place.rank, instruction);
    const MeetingEntry& meeting = owner.log->streams[place.lane].meetings[entry->meeting];
    charge_collective(place.rank, call, entry->end - meeting.met);
    const auto& theirs = rank(meeting.last_rank).log->streams[meeting.last_stream].entries;
    return meeting.last_entry < theirs.size()
               ? cause_of(last_to_arrive(place, meeting, call), theirs[meeting.last_entry])
               : std::nullopt;
  }

  /// What the rank itself calls: one that is simulated for it fills the slot with a call of its own.
  const CollectiveCall& call_of(std::uint32_t number, const Instruction& instruction) const {
    if (!instruction.per_rank) {
      return rank(number).call_of(instruction);
    }
    const Job& job = executor_.job();
    const RankAssignment& assignment = job.ranks[number];
    return job.programs[assignment.program]->collectives[assignment.collective_slots[instruction.operand]];
  }

  /// Of the group of place.rank itself, not of the one that was simulated for it.
  std::uint32_t last_to_arrive(const Place& place, const MeetingEntry& meeting,
                               const CollectiveCall& call) const {
    const Folding* folding = executor_.spec().folding;
    if (folding == nullptr) {
      return meeting.last_rank;
    }
    const TrafficGroup& group = folding->traffic().group_of(executor_.job(), place.rank, call);
    if (group.is_pair) {
      const bool itself = meeting.last_rank == rank(place.rank).number() &&
                          meeting.last_stream == place.lane && meeting.last_entry == place.entry;
      const bool sends = call.kind == CollectiveKind::Send;
      return group.ranks[sends == itself ? 0 : 1];
    }
    const Rank& last = rank(meeting.last_rank);
    const LogEntry& theirs = last.log->streams[meeting.last_stream].entries[meeting.last_entry];
    const CollectiveCall& their_call = last.call_of(last.instruction_of({0, theirs.where, 0}));
    return folding->member_like(last.number(), their_call.group, group);
  }

  std::optional<Place> cause_of(std::uint32_t number, const LogEntry& entry) {
    const RankLog& log = *rank(number).log;
    const Cause& cause = entry.cause;
    switch (cause.kind) {
      case Cause::Kind::Host:
        charge("launch latency", PathPart::LaunchLatency,
               entry.start - log.instruction_ends[cause.lane][cause.entry]);
        return Place{number, true, cause.lane, cause.entry};
      case Cause::Kind::Previous:
      case Cause::Kind::Stream:
        if (cause.entry == RankLog::kNoEntry) {
          return std::nullopt;
        }
        charge("gap between kernels", PathPart::KernelGap,
               entry.start - log.streams[cause.lane].entries[cause.entry].end);
        return Place{number, false, cause.lane, cause.entry};
      case Cause::Kind::None:
        break;
    }
    return std::nullopt;
  }

  std::optional<Place> host(const Place& place) {
    const Rank& owner = rank(place.rank);
    const RankLog& log = *owner.log;
    const auto& ends = log.instruction_ends[place.lane];
    const auto& waits = log.waits[place.lane];
    const auto wait =
        std::lower_bound(waits.begin(), waits.end(), place.entry,
                         [](const HostWaitEntry& w, std::uint32_t i) { return w.instruction < i; });
    if (wait != waits.end() && wait->instruction == place.entry) {
      charge("host: return from a wait", PathPart::HostReturn, ends[place.entry] - wait->until);
      return waited_for(place, *wait);
    }
    const double begin = place.entry == 0 ? log.thread_starts[place.lane] : ends[place.entry - 1];
    charge(host_name(owner.program(), place), PathPart::HostWork,
           ends[place.entry] - begin - noise_before(log, place));
    return place.entry == 0 ? std::nullopt
                            : std::optional{Place{place.rank, true, place.lane, place.entry - 1}};
  }

  /// Charges what interrupted the main thread before an instruction. @return its seconds
  double noise_before(const RankLog& log, const Place& place) {
    double seconds = 0;
    const auto first =
        std::lower_bound(log.noise.begin(), log.noise.end(), place.entry,
                         [](const NoiseEntry& n, std::uint32_t i) { return n.instruction < i; });
    for (auto entry = first; place.lane == 0 && entry != log.noise.end() && entry->instruction == place.entry;
         ++entry) {
      charge("noise: " + executor_.spec().noise.sources()[entry->source].name, PathPart::Noise,
             entry->seconds);
      seconds += entry->seconds;
    }
    return seconds;
  }

  std::optional<Place> waited_for(const Place& place, const HostWaitEntry& wait) {
    const Cause& cause = wait.cause;
    if (cause.kind == Cause::Kind::Host) {
      return Place{place.rank, true, cause.lane, cause.entry};
    }
    if (cause.kind != Cause::Kind::None && cause.entry != RankLog::kNoEntry) {
      return Place{place.rank, false, cause.lane, cause.entry};
    }
    const Instruction& instruction = rank(place.rank).program().threads[place.lane].instructions[place.entry];
    if (instruction.op != Opcode::Launch && instruction.op != Opcode::Collective) {
      return std::nullopt;  // for an event of the step before
    }
    const auto& entries = rank(place.rank).log->streams[cause.lane].entries;
    // A full launch queue: the kernel that began at that moment made room.
    const auto began = std::lower_bound(entries.begin(), entries.end(), wait.until,
                                        [](const LogEntry& e, double date) { return e.start < date; });
    return began != entries.end() && began->start == wait.until ? cause_of(place.rank, *began) : std::nullopt;
  }

  std::string host_name(const Program& program, const Place& place) {
    const Program::Thread& thread = program.threads[place.lane];
    auto& names = ranges_[&thread];
    if (names.empty()) {
      names = enclosing_ranges(thread);
    }
    const Instruction& instruction = thread.instructions[place.entry];
    const std::uint32_t name = instruction.op == Opcode::HostWork ? instruction.operand : names[place.entry];
    return name < program.names.size() ? "host: " + program.names[name] : std::string{"host"};
  }

  /// A plan and its loads, which a folded job keeps apart from it. Null: never planned.
  struct Planned {
    const CollectivePlan* plan = nullptr;
    const std::vector<LinkLoad>* loads = nullptr;
  };

  Planned planned_for(std::uint32_t number, const CollectiveCall& call) const {
    if (const Folding* folding = executor_.spec().folding; folding != nullptr) {
      const TrafficGroup& group = folding->traffic().group_of(executor_.job(), number, call);
      const TrafficCall* planned = group.find(call);
      return planned == nullptr ? Planned{} : Planned{&planned->plan, &group.shapes[planned->shape].loads};
    }
    const Membership member = const_cast<Rank&>(rank(number)).membership(call);
    const CollectivePlan* plan = member.group->find_plan(call);
    return plan == nullptr ? Planned{} : Planned{plan, &plan->loads};
  }

  std::string bottleneck(const std::vector<LinkLoad>& loads, const CollectivePlan& plan) const {
    const LinkLoad* worst = nullptr;
    double longest = 0;
    const auto links = executor_.spec().fabric->links();
    for (const LinkLoad& load : loads) {
      const double time = load.share / links[load.link].bandwidth.in_base_units();
      if (time > longest * (1 + 1e-9)) {
        longest = time;
        worst = &load;
      }
    }
    if (worst == nullptr) {
      return {};
    }
    // A plan's own bound includes what no protocol gets out of a link: only well below it is it the
    // protocol's doing.
    constexpr double kProtocolBelow = 0.7;
    const bool by_cap = longest * plan.rate_cap.in_base_units() < kProtocolBelow;
    return by_cap ? plan.protocol + " protocol" : links[worst->link].name;
  }

  const Executor& executor_;
  std::map<std::string, CriticalShare> shares_;
  std::map<std::pair<std::string, double>, std::size_t> places_;  ///< in CriticalShare::predictions
  std::map<const Program::Thread*, std::vector<std::uint32_t>> ranges_;
};

}  // namespace

std::vector<CriticalShare> critical_path(const Executor& executor) {
  return Walk{executor}.from_the_end();
}

}  // namespace lockstep
