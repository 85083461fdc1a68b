#include "sim/critical_path.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"
#include "sim/host_pieces.hpp"
#include "sim/path_shares.hpp"
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

/// Longer than streams rest between kernels, and launches take to reach the GPU, s.
constexpr double kLongRest = 50e-6;

class Walk {
 public:
  explicit Walk(Executor& executor)
      : executor_{executor}, shares_{executor}, host_pieces_{executor.spec().recorded_steps} {}

  CriticalPath from_the_end() {
    for (std::optional<Place> at = latest(); at;) {
      at = at->on_host ? host(*at) : stream(*at);
    }
    std::reverse(pieces_.begin(), pieces_.end());
    return {shares_.take(), std::move(pieces_)};
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

  std::optional<Place> stream(const Place& place) {
    const Rank& owner = rank(place.rank);
    const RankLog::Lane& lane = log(place.rank).streams[place.lane];
    const LogEntry& entry = lane.entries[place.entry];
    const Instruction& instruction = owner.instruction_of({0, entry.where, 0});
    if (instruction.op != Opcode::Collective) {
      if (owner.timing_of(owner.kernel_of(instruction)).crosses_links()) {
        return transfer(place, instruction, lane.meetings[entry.meeting]);
      }
      shares_.charge_kernel(owner, instruction, entry.end - entry.start);
      note_piece(place, entry.start, entry.end);
      return cause_of(place.rank, entry);
    }
    const CollectiveCall& call = call_of(place.rank, instruction);
    const Rendezvous& meeting = lane.meetings[entry.meeting];
    shares_.charge_collective(place.rank, call, entry.end - meeting.met);
    note_piece(place, meeting.met, entry.end);
    const LogEntry* theirs = last_entry(meeting);
    return theirs != nullptr ? cause_of(last_to_arrive(place, meeting, call), *theirs) : std::nullopt;
  }

  /// A copy that waited for an engine goes on from the end of the one that had it.
  std::optional<Place> transfer(const Place& place, const Instruction& instruction, const Rendezvous& taken) {
    const LogEntry& entry = log(place.rank).streams[place.lane].entries[place.entry];
    shares_.charge_transfer(place.rank, instruction, entry.end - taken.met);
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
    shares_.charge("gap between kernels", PathPart::KernelGap, entry.start - entry.free_since);
    return std::nullopt;
  }

  /// Before work that had been launched. Recordings do not say why a long one was.
  void charge_rest(std::uint32_t number, const LogEntry& entry, const std::string& usual, PathPart part,
                   double seconds) {
    if (executor_.spec().recorded_steps.empty() || seconds < kLongRest) {
      shares_.charge(usual, part, seconds);
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
    shares_.charge("stream" + before, part, busy);
    shares_.charge("GPU" + before, part, seconds - busy);
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
      shares_.charge("host: return from a wait", PathPart::HostReturn, ends[place.entry] - wait->until);
      note_piece(place, wait->until, ends[place.entry]);
      return waited_for(place, *wait);
    }
    const double begin = place.entry == 0 ? log.thread_starts[place.lane] : ends[place.entry - 1];
    const HostPiece piece = host_pieces_.at(owner.program(), place.lane, place.entry);
    shares_.charge(piece.label, piece.part, ends[place.entry] - begin - noise_before(log, place));
    note_piece(place, begin, ends[place.entry]);
    if (!piece.operation.empty()) {
      shares_.note_operation(piece.label, piece.operation);
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
      shares_.charge("noise: " + executor_.spec().noise.sources()[entry->source].name, PathPart::Noise,
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

  Executor& executor_;
  PathShares shares_;
  HostPieces host_pieces_;
  std::map<std::uint32_t, std::unique_ptr<RankLog>> logs_;  // by number of the simulated rank
  std::vector<PathPiece> pieces_;                           // latest first
};

}  // namespace

CriticalPath critical_path(Executor& executor) {
  return Walk{executor}.from_the_end();
}

}  // namespace lockstep
