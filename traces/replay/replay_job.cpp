#include "traces/replay/replay_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "traces/kineto/foreign_trace.hpp"
#include "traces/replay/one_job.hpp"
#include "traces/replay/replay_groups.hpp"

namespace lockstep::replay {
namespace {

using kineto::RecordedTrace;

Nanoseconds first_moment(const RecordedTrace& trace) {
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  const auto take = [&](const auto& events) {
    for (const auto& event : events) {
      first = std::min(first, event.start);
    }
  };
  take(trace.operators);
  take(trace.calls);
  take(trace.work);
  if (first == std::numeric_limits<Nanoseconds>::max()) {
    if (const std::string whose = kineto::foreign_trace(trace); !whose.empty()) {
      throw InputError{{trace.file}, whose};
    }
    throw InputError{{trace.file}, "the trace holds no operators, calls or GPU work: nothing to replay"};
  }
  return first;
}

constexpr Oddity kMissing{"ranks of the job whose traces are missing",
                          "collectives meet among those that are there, which are counted from 0",
                          Severity::Warning};

/// Reports ranks of several traces' job that are not there. A single trace stands for its job, and says so.
void tell_missing(std::vector<RecordedTrace>& traces) {
  const std::int64_t world = traces.front().world_size;
  if (traces.size() == 1 || world <= static_cast<std::int64_t>(traces.size())) {
    return;
  }
  std::set<std::int64_t> there;
  for (const RecordedTrace& trace : traces) {
    there.insert(trace.rank);
  }
  for (std::int64_t rank = 0; rank < world; ++rank) {
    if (!there.contains(rank)) {
      traces.front().report.add(kMissing, fmt::format("rank {} of {}", rank, world));
    }
  }
}

class Assembly {
 public:
  Assembly(std::vector<RecordedTrace> traces, std::uint32_t ranks, const KernelFamilies& families)
      : ranks_{ranks == 0 ? static_cast<std::uint32_t>(traces.size()) : ranks}, families_{families} {
    if (traces.empty() || ranks_ % traces.size() != 0) {
      throw std::invalid_argument{
          fmt::format("{} ranks cannot be made of {} traces: a multiple is needed", ranks_, traces.size())};
    }
    if (auto problems = different_jobs(traces); !problems.empty()) {
      throw InputError{std::move(problems)};
    }
    if (ranks == 0) {
      tell_missing(traces);
    }
    for (RecordedTrace& trace : traces) {
      RankRecording& rank = made_.ranks.emplace_back();
      rank.trace = std::move(trace);
      begin_ = std::min(begin_, first_moment(rank.trace));
    }
  }

  Replay run() {
    for (RankRecording& rank : made_.ranks) {
      prepare(rank);
    }
    meet();
    for (RankRecording& rank : made_.ranks) {
      RankProgram written = write_program(rank);
      made_.job.programs.push_back(std::make_shared<const Program>(std::move(written.program)));
      made_.programs.push_back(std::move(written));
    }
    for (std::uint32_t number = 0; number < ranks_; ++number) {
      assign(number);
    }
    for (std::size_t i = 0; i < made_.ranks.size(); ++i) {
      made_.ranks[i].collectives = std::move(collectives_[i]);
    }
    return std::move(made_);
  }

 private:
  void prepare(RankRecording& rank) {
    rank.begin = begin_;  // by its own clock, once that is known
    rank.links = link(rank.trace);
    const auto world =
        std::max<std::int64_t>(rank.trace.world_size, static_cast<std::int64_t>(made_.ranks.size()));
    rank.families = WorkFamilies{rank.trace, rank.links, families_};
    FoundCommunication found = find_communication(rank.trace, rank.links, rank.families, world);
    rank.communication = std::move(found.of_unknown_kind);
    for (const RecordedCollective& collective : found.collectives) {
      rank.communication.push_back(collective.work);
    }
    std::ranges::sort(rank.communication);
    std::vector<bool> communicates(rank.trace.work.size(), false);
    for (const std::uint32_t work : rank.communication) {
      communicates[work] = true;
    }
    collectives_.push_back(std::move(found.collectives));
    for (RecordedCollective& collective : collectives_.back()) {
      collective.meets_itself = groups_.meets_itself(collective);
    }
    rank.stream_waits = find_stream_waits(rank.trace, rank.links, communicates);
    rank.host_waits = find_host_waits(rank.trace, rank.links);
    rank.silent = find_silent_waits(rank.trace, rank.links, communicates);
    rank.call_number.assign(rank.trace.work.size(), kNone);
    for (const kineto::Work& work : rank.trace.work) {
      rank.ends.push_back(work.end);
    }
  }

  /// Collectives whose members are all there meet; their streams are process groups of their own, because
  /// every NCCL communicator has a stream of its own.
  void meet() {
    const MatchedCollectives matched = made_.ranks.size() == 1 ? matched_alone() : matched_collectives();
    for (std::size_t i = 0; i < made_.ranks.size(); ++i) {
      made_.ranks[i].begin += matched.clock_offsets[i];
    }
    for (const CollectiveMeeting& meeting : matched.meetings) {
      add_calls(meeting, groups_.of(meeting));
    }
  }

  MatchedCollectives matched_collectives() {
    std::vector<RankCollectives> views;
    for (std::size_t i = 0; i < made_.ranks.size(); ++i) {
      views.push_back({&made_.ranks[i].trace, &made_.ranks[i].links, &collectives_[i]});
    }
    return match_collectives(views);
  }

  /// One trace for many ranks: all of them arrive together. Who receives what it sends is not there.
  MatchedCollectives matched_alone() {
    MatchedCollectives matched{{}, {0}};
    RankRecording& rank = made_.ranks.front();
    tell_pairs_alone(rank.trace, collectives_.front(), {});
    for (std::uint32_t i = 0; i < collectives_.front().size() && ranks_ > 1; ++i) {
      if (collectives_.front()[i].is_pair()) {
        continue;
      }
      const kineto::Work& work = rank.trace.work[collectives_.front()[i].work];
      matched.meetings.push_back(
          {{i}, rank.links.lane_of_work[collectives_.front()[i].work], work.start, work.end});
    }
    return matched;
  }

  void add_calls(const CollectiveMeeting& meeting, const std::string& group) {
    CollectiveCall call;
    for (std::size_t rank = 0; rank < meeting.members.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        const RecordedCollective& recorded = collectives_[rank][meeting.members[rank]];
        call.kind = recorded.kind;
        call.type = recorded.type;
        call.size = std::max(call.size, Bytes{std::max(recorded.size, 0.0)});
      }
    }
    call.recorded = Seconds{1e-9 * static_cast<double>(meeting.end - meeting.last_arrival)};
    int position = 0;
    for (std::size_t rank = 0; rank < meeting.members.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        const RecordedCollective& recorded = collectives_[rank][meeting.members[rank]];
        call.kind = recorded.kind;
        call.peer = recorded.is_pair() ? 1 - position++ : 0;
        const std::uint32_t work = recorded.work;
        RankRecording& member = made_.ranks[rank];
        member.ends[work] = meeting.end + (member.begin - begin_);
        member.call_number[work] = static_cast<std::uint32_t>(member.calls.size());
        call.group = group_number(member, group);
        member.calls.push_back(call);
        member.recorded_calls.push_back(meeting.members[rank]);
      }
    }
  }

  /// @return of Program::groups
  static std::uint32_t group_number(RankRecording& rank, const std::string& name) {
    const auto known = std::ranges::find(rank.groups, name);
    if (known == rank.groups.end()) {
      rank.groups.push_back(name);
      return static_cast<std::uint32_t>(rank.groups.size() - 1);
    }
    return static_cast<std::uint32_t>(known - rank.groups.begin());
  }

  void assign(std::uint32_t number) {
    const auto traces = static_cast<std::uint32_t>(made_.ranks.size());
    RankAssignment assignment;
    assignment.program = number % traces;
    for (const std::string& name : made_.ranks[assignment.program].groups) {
      assignment.groups.push_back(groups_.number(name, number));
    }
    made_.job.ranks.push_back(std::move(assignment));
  }

  std::uint32_t ranks_;
  const KernelFamilies& families_;
  Replay made_;
  std::vector<std::vector<RecordedCollective>> collectives_;  // by rank
  ReplayGroups groups_{ranks_, made_.ranks, collectives_, made_.job.groups};
  Nanoseconds begin_ = std::numeric_limits<Nanoseconds>::max();
};

}  // namespace

Replay make_replay(std::vector<RecordedTrace> traces, std::uint32_t ranks, const KernelFamilies& families) {
  return Assembly{std::move(traces), ranks, families}.run();
}

}  // namespace lockstep::replay
