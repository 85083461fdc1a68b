#include "sim/critical_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ops/kernel_model.hpp"
#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"
#include "sim/host_links.hpp"
#include "sim/rank_rerun.hpp"

namespace lockstep {
namespace {

/// A point of the path: something that ended, and whose reason to have begun is looked for next.
struct Place {
  std::uint32_t rank = 0;
  bool on_host = false;
  std::uint8_t lane = 0;
  std::uint32_t entry = 0;
};

constexpr std::uint32_t kNoName = 0xffffffff;

/// Longer than streams rest between kernels, and launches take to reach the GPU, s.
constexpr double kLongRest = 50e-6;

/// The name of the innermost range around an instruction, and around what opens a range.
struct RangeNames {
  std::uint32_t within = kNoName, before = kNoName;
};

std::vector<RangeNames> enclosing_ranges(const Program::Thread& thread) {
  std::vector<RangeNames> names;
  std::vector<std::uint32_t> open;
  const auto innermost = [&] { return open.empty() ? kNoName : open.back(); };
  for (const Instruction& instruction : thread.instructions) {
    const std::uint32_t before = innermost();
    if (instruction.op == Opcode::RangeBegin) {
      open.push_back(instruction.operand);
    }
    names.push_back({innermost(), before});
    if (instruction.op == Opcode::RangeEnd) {
      open.pop_back();
    }
  }
  return names;
}

/// A piece of the path on a host thread.
struct HostPiece {
  std::string label;
  PathPart part = PathPart::HostWork;
  std::string operation{};  ///< CriticalShare::operation

  static HostPiece of(const std::string& operation) {
    return {"host: " + operation, PathPart::HostWork, operation};
  }
  static HostPiece silent(const std::string& where) {
    return {"host: nothing recorded" + where, PathPart::Silence};
  }
};

class Walk {
 public:
  explicit Walk(Executor& executor) : executor_{executor}, host_links_{executor} {}

  CriticalPath from_the_end() {
    for (std::optional<Place> at = latest(); at;) {
      at = at->on_host ? host(*at) : stream(*at);
    }
    std::vector<CriticalShare> shares;
    for (auto& [what, share] : shares_) {
      shares.push_back(std::move(share));
    }
    std::stable_sort(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.seconds > b.seconds; });
    std::reverse(pieces_.begin(), pieces_.end());
    return {std::move(shares), std::move(pieces_)};
  }

 private:
  /// Returns the rank that was simulated for @p number: what happened on one happened on the other.
  const Rank& rank(std::uint32_t number) const { return executor_.rank_for(number); }

  /// The log of the last step; the rank runs again when it is first asked for.
  const RankLog& log(std::uint32_t number) {
    std::unique_ptr<RankLog>& log = logs_[rank(number).number()];
    if (log == nullptr) {
      RankRerun rerun{executor_, rank(number).number()};
      rerun.run();
      log = rerun.take_log();
    }
    return *log;
  }

  /// The first of the ranks whose work ends last.
  const Rank& last_rank() const {
    const auto end_of = [](const Rank& rank) {
      double end = 0;
      for (const Stream& stream : rank.streams()) {
        end = std::max(end, stream.clock());
      }
      for (const HostThread& thread : rank.threads()) {
        end = std::max(end, thread.clock());
      }
      return end;
    };
    const auto& ranks = executor_.ranks();
    return *std::max_element(ranks.begin(), ranks.end(),
                             [&](const Rank& a, const Rank& b) { return end_of(a) < end_of(b); });
  }

  std::optional<Place> latest() {
    std::optional<Place> last;
    double end = -1;
    const std::uint32_t number = last_rank().number();
    const RankLog& log = this->log(number);
    for (std::size_t lane = 0; lane < log.streams.size(); ++lane) {
      const auto& entries = log.streams[lane].entries;
      if (!entries.empty() && entries.back().end > end) {
        end = entries.back().end;
        last = Place{number, false, static_cast<std::uint8_t>(lane),
                     static_cast<std::uint32_t>(entries.size() - 1)};
      }
    }
    for (std::size_t lane = 0; lane < log.instruction_ends.size(); ++lane) {
      const auto& ends = log.instruction_ends[lane];
      if (!ends.empty() && ends.back() > end) {
        end = ends.back();
        last =
            Place{number, true, static_cast<std::uint8_t>(lane), static_cast<std::uint32_t>(ends.size() - 1)};
      }
    }
    return last;
  }

  /// Notes where the path was. The walk goes backward: what touches the piece after it on a lane joins it.
  void note_piece(const Place& place, double start, double end) {
    if (!(end > start)) {
      return;
    }
    const std::uint32_t number = rank(place.rank).number();
    if (!pieces_.empty()) {
      PathPiece& next = pieces_.back();
      if (place.on_host && next.on_host && next.rank == number && next.lane == place.lane &&
          next.start <= end) {
        next.start = std::min(next.start, start);
        return;
      }
    }
    pieces_.push_back({number, place.on_host, place.lane, start, end});
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

  /// A copy, or a kernel that reads or writes host memory.
  void charge_transfer(std::uint32_t number, const Instruction& instruction, double seconds) {
    const Rank& owner = rank(number);
    const std::uint32_t kernel = owner.kernel_of(instruction);
    const KernelCall& call = owner.program().kernels[kernel];
    charge_kernel(owner, instruction, seconds);
    if (seconds <= 0) {
      return;
    }
    CriticalShare& share = shares_[call.name];
    const bool is_copy = owner.timing_of(kernel).kind == KernelTiming::Kind::Transfer;
    share.part = is_copy ? PathPart::Copy : PathPart::Kernel;
    const VertexId gpu = executor_.job().ranks[number].gpu;
    const Link* link =
        host_links_.bounding(gpu, host_traffic(call), owner.timing_of(kernel).seconds, seconds);
    if (link != nullptr) {
      share.bottleneck = link->name;
    }
    share.over_pcie += is_copy || link != nullptr ? seconds : 0;
  }

  void charge_collective(std::uint32_t number, const CollectiveCall& call, double seconds) {
    const std::string what = to_string(call.kind);
    charge(what, PathPart::Collective, seconds);
    const Planned planned = planned_for(number, call);
    if (planned.plan == nullptr) {
      return;
    }
    note_bottleneck(shares_[what], *planned.loads, *planned.plan, seconds);
    rest_on(what, planned.plan->size.in_base_units(), seconds, [&] {
      return PathPrediction{planned.plan->algorithm + " " + planned.plan->protocol, 0, planned.plan->band,
                            planned.plan->provenance};
    });
  }

  std::optional<Place> stream(const Place& place) {
    const Rank& owner = rank(place.rank);
    const RankLog::Lane& lane = log(place.rank).streams[place.lane];
    const LogEntry& entry = lane.entries[place.entry];
    const Instruction& instruction = owner.instruction_of({0, entry.where, 0});
    if (instruction.op != Opcode::Collective) {
      if (owner.timing_of(owner.kernel_of(instruction)).crosses_links()) {
        return transfer(place, instruction, lane.meetings[entry.meeting]);
      }
      charge_kernel(owner, instruction, entry.end - entry.start);
      note_piece(place, entry.start, entry.end);
      return cause_of(place.rank, entry);
    }
    const CollectiveCall& call = call_of(place.rank, instruction);
    const Rendezvous& meeting = lane.meetings[entry.meeting];
    charge_collective(place.rank, call, entry.end - meeting.met);
    note_piece(place, meeting.met, entry.end);
    const LogEntry* theirs = last_entry(meeting);
    return theirs != nullptr ? cause_of(last_to_arrive(place, meeting, call), *theirs) : std::nullopt;
  }

  /// A copy that waited for an engine goes on from the end of the one that had it.
  std::optional<Place> transfer(const Place& place, const Instruction& instruction, const Rendezvous& taken) {
    const LogEntry& entry = log(place.rank).streams[place.lane].entries[place.entry];
    charge_transfer(place.rank, instruction, entry.end - taken.met);
    note_piece(place, taken.met, entry.end);
    if (taken.last_rank == Rendezvous::kNobody) {
      return cause_of(place.rank, entry);
    }
    const bool own = taken.last_rank == rank(place.rank).number();
    const std::uint32_t before = own ? place.rank : taken.last_rank;
    const RankLog::Lane& lane = log(before).streams[taken.last_stream];
    return taken.last_launch < lane.launched_before
               ? std::nullopt
               : std::optional{
                     Place{before, false, taken.last_stream, taken.last_launch - lane.launched_before}};
  }

  /// The entry of who arrived last. Null: in an earlier step.
  const LogEntry* last_entry(const Rendezvous& meeting) {
    const RankLog::Lane& lane = log(meeting.last_rank).streams[meeting.last_stream];
    const bool in_step = meeting.last_launch >= lane.launched_before;
    return in_step ? &lane.entries[meeting.last_launch - lane.launched_before] : nullptr;
  }

  /// The rank's own call: one that is simulated for it fills the slot with a call of its own.
  const CollectiveCall& call_of(std::uint32_t number, const Instruction& instruction) const {
    if (!instruction.per_rank) {
      return rank(number).call_of(instruction);
    }
    const Job& job = executor_.job();
    const RankAssignment& assignment = job.ranks[number];
    return job.programs[assignment.program]->collectives[assignment.collective_slots[instruction.operand]];
  }

  /// The last to arrive in the group of place.rank itself, not of the one that was simulated for it.
  std::uint32_t last_to_arrive(const Place& place, const Rendezvous& meeting, const CollectiveCall& call) {
    const Folding* folding = executor_.spec().folding;
    if (folding == nullptr) {
      return meeting.last_rank;
    }
    const TrafficGroup& group = folding->traffic().group_of(executor_.job(), place.rank, call);
    if (group.is_pair) {
      const bool itself = meeting.last_rank == rank(place.rank).number() &&
                          meeting.last_stream == place.lane &&
                          last_entry(meeting) == &log(place.rank).streams[place.lane].entries[place.entry];
      const bool sends = call.kind == CollectiveKind::Send;
      return group.ranks[sends == itself ? 0 : 1];
    }
    const Rank& last = rank(meeting.last_rank);
    const CollectiveCall& their_call = last.call_of(last.instruction_of({0, last_entry(meeting)->where, 0}));
    return folding->member_like(last.number(), their_call.group, group);
  }

  std::optional<Place> cause_of(std::uint32_t number, const LogEntry& entry) {
    const RankLog& log = this->log(number);
    const Cause& cause = entry.cause;
    switch (cause.kind) {
      case Cause::Kind::Host:
        charge_rest(number, entry, "launch latency", PathPart::LaunchLatency,
                    entry.start - log.instruction_ends[cause.lane][cause.entry]);
        return Place{number, true, cause.lane, cause.entry};
      case Cause::Kind::Previous:
      case Cause::Kind::Stream:
        if (cause.entry != RankLog::kNoEntry) {
          charge_rest(number, entry, "gap between kernels", PathPart::KernelGap,
                      entry.start - log.streams[cause.lane].entries[cause.entry].end);
          return Place{number, false, cause.lane, cause.entry};
        }
        break;
      case Cause::Kind::None:
        break;
    }
    // It waited for an earlier step, whose end lies before the gap.
    charge("gap between kernels", PathPart::KernelGap, entry.start - entry.free_since);
    return std::nullopt;
  }

  /// Before work that had been launched. Recordings do not say why a long one was.
  void charge_rest(std::uint32_t number, const LogEntry& entry, const std::string& usual, PathPart part,
                   double seconds) {
    if (executor_.spec().recorded_steps.empty() || seconds < kLongRest) {
      charge(usual, part, seconds);
      return;
    }
    const Rank& owner = rank(number);
    const Instruction& instruction = owner.instruction_of({0, entry.where, 0});
    const std::string name = instruction.op == Opcode::Collective
                                 ? to_string(call_of(number, instruction).kind)
                                 : owner.program().kernels[owner.kernel_of(instruction)].name;
    constexpr std::size_t kShown = 28;
    const std::string before = " idle, work queued, before " + name.substr(0, kShown);
    const double busy = busy_within(log(number), entry.start - seconds, entry.start);
    charge("stream" + before, part, busy);
    charge("GPU" + before, part, seconds - busy);
  }

  /// Seconds from @p begin to @p end in which any stream of a rank works.
  static double busy_within(const RankLog& log, double begin, double end) {
    std::vector<std::pair<double, double>> spans;
    for (const RankLog::Lane& lane : log.streams) {
      auto entry = std::lower_bound(lane.entries.begin(), lane.entries.end(), begin,
                                    [](const LogEntry& one, double date) { return one.end <= date; });
      for (; entry != lane.entries.end() && entry->start < end; ++entry) {
        spans.emplace_back(entry->start, std::min(entry->end, end));
      }
    }
    std::sort(spans.begin(), spans.end());
    double busy = 0;
    for (const auto& [from, to] : spans) {
      busy += std::max(0.0, to - std::max(from, begin));
      begin = std::max(begin, to);
    }
    return busy;
  }

  std::optional<Place> host(const Place& place) {
    const Rank& owner = rank(place.rank);
    const RankLog& log = this->log(place.rank);
    const auto& ends = log.instruction_ends[place.lane];
    const auto& waits = log.waits[place.lane];
    const auto wait =
        std::lower_bound(waits.begin(), waits.end(), place.entry,
                         [](const HostWaitEntry& w, std::uint32_t i) { return w.instruction < i; });
    if (wait != waits.end() && wait->instruction == place.entry) {
      charge("host: return from a wait", PathPart::HostReturn, ends[place.entry] - wait->until);
      note_piece(place, wait->until, ends[place.entry]);
      return waited_for(place, *wait);
    }
    const double begin = place.entry == 0 ? log.thread_starts[place.lane] : ends[place.entry - 1];
    const HostPiece piece = host_piece(owner.program(), place);
    charge(piece.label, piece.part, ends[place.entry] - begin - noise_before(log, place));
    note_piece(place, begin, ends[place.entry]);
    if (!piece.operation.empty()) {
      note_operation(piece);
    }
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
    const auto& entries = log(place.rank).streams[cause.lane].entries;
    // A full launch queue: the kernel that began at that moment made room.
    const auto began = std::lower_bound(entries.begin(), entries.end(), wait.until,
                                        [](const LogEntry& e, double date) { return e.start < date; });
    return began != entries.end() && began->start == wait.until ? cause_of(place.rank, *began) : std::nullopt;
  }

  void note_operation(const HostPiece& piece) {
    if (const auto share = shares_.find(piece.label); share != shares_.end()) {
      share->second.operation = piece.operation;
    }
  }

  HostPiece host_piece(const Program& program, const Place& place) {
    const Program::Thread& thread = program.threads[place.lane];
    auto& names = ranges_[&thread];
    if (names.empty()) {
      names = enclosing_ranges(thread);
    }
    const Instruction& instruction = thread.instructions[place.entry];
    const bool has_own = instruction.op == Opcode::HostWork;
    if (!has_own && !executor_.spec().recorded_steps.empty()) {
      if (const std::optional<HostPiece> outside =
              outside_operators(program, instruction, names[place.entry])) {
        return *outside;
      }
    }
    const std::uint32_t name = has_own ? instruction.operand : names[place.entry].within;
    return name < program.names.size() ? HostPiece::of(program.names[name]) : HostPiece{"host"};
  }

  /// In a recording, time that no operator covers is not the time of the one that comes next. Nothing: an
  /// operator does.
  [[nodiscard]] std::optional<HostPiece> outside_operators(const Program& program,
                                                           const Instruction& instruction,
                                                           const RangeNames& around) const {
    const std::uint32_t outer = around.before;
    const bool has_name = outer < program.names.size();
    if (has_name && !program.names[outer].starts_with(executor_.spec().recorded_steps)) {
      return instruction.op == Opcode::RangeBegin ? std::optional{HostPiece::of(program.names[outer])}
                                                  : std::nullopt;
    }
    const bool waits = instruction.op == Opcode::WaitEvent || instruction.op == Opcode::WaitStream ||
                       instruction.op == Opcode::WaitDevice;
    if (waits && instruction.cost > instruction.lead) {
      return HostPiece{"host: wait for the GPU, no work recorded"};
    }
    if (instruction.op == Opcode::RangeBegin && instruction.operand < program.names.size()) {
      return HostPiece::silent(" before " + program.names[instruction.operand]);
    }
    return HostPiece::silent(has_name ? " in " + program.names[outer] : "");
  }

  /// A plan and its loads, which a folded job keeps apart from it. Null: never planned.
  struct Planned {
    const CollectivePlan* plan = nullptr;
    const std::vector<LinkLoad>* loads = nullptr;
  };

  Planned planned_for(std::uint32_t number, const CollectiveCall& call) {
    if (const Folding* folding = executor_.spec().folding; folding != nullptr) {
      const TrafficGroup& group = folding->traffic().group_of(executor_.job(), number, call);
      const TrafficCall* planned = group.find(call);
      return planned == nullptr ? Planned{} : Planned{&planned->plan, &group.shapes[planned->shape].loads};
    }
    const Membership member =
        is_pair(call.kind) ? executor_.pair(rank(number), call) : rank(number).memberships()[call.group];
    const CollectivePlan* plan = member.group->find_plan(call);
    return plan == nullptr ? Planned{} : Planned{plan, &plan->loads};
  }

  void note_bottleneck(CriticalShare& share, const std::vector<LinkLoad>& loads, const CollectivePlan& plan,
                       double seconds) const {
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
      share.bottleneck = {};
      return;
    }
    // A plan's own bound includes what no protocol gets out of a link: only well below it is it the
    // protocol's doing.
    constexpr double kProtocolBelow = 0.7;
    const bool by_cap = longest * plan.rate_cap.in_base_units() < kProtocolBelow;
    share.bottleneck = by_cap ? plan.protocol + " protocol" : links[worst->link].name;
    share.over_pcie += !by_cap && links[worst->link].kind == LinkKind::Pcie ? seconds : 0;
  }

  Executor& executor_;
  HostLinks host_links_;
  std::map<std::uint32_t, std::unique_ptr<RankLog>> logs_;  // by number of the simulated rank
  std::map<std::string, CriticalShare> shares_;
  std::vector<PathPiece> pieces_;                                 // latest first
  std::map<std::pair<std::string, double>, std::size_t> places_;  ///< in CriticalShare::predictions
  std::map<const Program::Thread*, std::vector<RangeNames>> ranges_;
};

}  // namespace

CriticalPath critical_path(Executor& executor) {
  return Walk{executor}.from_the_end();
}

}  // namespace lockstep
