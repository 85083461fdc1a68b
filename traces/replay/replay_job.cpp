#include "traces/replay/replay_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "traces/replay/communication.hpp"

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
    throw InputError{{trace.file}, "the trace holds no operators, calls or GPU work: nothing to replay"};
  }
  return first;
}

class Assembly {
 public:
  explicit Assembly(std::vector<RecordedTrace> traces) {
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
    for (std::size_t number = 0; number < made_.ranks.size(); ++number) {
      write(static_cast<std::uint32_t>(number));
    }
    return std::move(made_);
  }

 private:
  void prepare(RankRecording& rank) {
    rank.begin = begin_;  // by its own clock, once that is known
    rank.links = link(rank.trace);
    const auto world =
        std::max<std::int64_t>(rank.trace.world_size, static_cast<std::int64_t>(made_.ranks.size()));
    collectives_.push_back(find_collectives(rank.trace, rank.links, world));
    std::vector<bool> communicates(rank.trace.work.size(), false);
    for (const RecordedCollective& collective : collectives_.back()) {
      communicates[collective.work] = true;
      rank.communication.push_back(collective.work);
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
    std::vector<RankCollectives> views;
    for (std::size_t i = 0; i < made_.ranks.size(); ++i) {
      views.push_back({&made_.ranks[i].trace, &made_.ranks[i].links, &collectives_[i]});
    }
    if (views.size() < 2) {
      return;
    }
    std::map<std::uint32_t, std::uint32_t> group_of_stream;
    const MatchedCollectives matched = match_collectives(views);
    for (std::size_t i = 0; i < made_.ranks.size(); ++i) {
      made_.ranks[i].begin += matched.clock_offsets[i];
    }
    for (const CollectiveMeeting& meeting : matched.meetings) {
      const auto [group, fresh] =
          group_of_stream.try_emplace(meeting.stream, static_cast<std::uint32_t>(made_.job.groups.size()));
      if (fresh) {
        add_group(meeting);
      }
      add_calls(meeting, group->second);
    }
  }

  void add_group(const CollectiveMeeting& meeting) {
    ProcessGroup group{fmt::format("group {}", made_.job.groups.size()), {}};
    for (std::uint32_t rank = 0; rank < meeting.members.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        group.ranks.push_back(rank);
      }
    }
    made_.job.groups.push_back(std::move(group));
  }

  void add_calls(const CollectiveMeeting& meeting, std::uint32_t group) {
    CollectiveCall call;
    double size = 0;
    for (std::size_t rank = 0; rank < meeting.members.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        const RecordedCollective& recorded = collectives_[rank][meeting.members[rank]];
        call.kind = recorded.kind;
        call.type = recorded.type;
        size = std::max(size, recorded.size);
      }
    }
    call.size = Bytes{size};
    call.recorded = Seconds{1e-9 * static_cast<double>(meeting.end - meeting.last_arrival)};
    for (std::size_t rank = 0; rank < meeting.members.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        const std::uint32_t work = collectives_[rank][meeting.members[rank]].work;
        RankRecording& member = made_.ranks[rank];
        member.ends[work] = meeting.end + (member.begin - begin_);
        member.call_number[work] = static_cast<std::uint32_t>(member.calls.size());
        call.group = group_number(member, group);
        member.calls.push_back(call);
      }
    }
  }

  std::uint32_t group_number(RankRecording& rank, std::uint32_t group) const {
    const std::string& name = made_.job.groups[group].name;
    const auto known = std::ranges::find(rank.groups, name);
    if (known == rank.groups.end()) {
      rank.groups.push_back(name);
      return static_cast<std::uint32_t>(rank.groups.size() - 1);
    }
    return static_cast<std::uint32_t>(known - rank.groups.begin());
  }

  void write(std::uint32_t number) {
    const RankRecording& rank = made_.ranks[number];
    RankProgram written = write_program(rank);
    RankAssignment assignment;
    assignment.program = number;
    for (const std::string& name : rank.groups) {
      const auto group = std::ranges::find(made_.job.groups, name, &ProcessGroup::name);
      assignment.groups.push_back(static_cast<std::uint32_t>(group - made_.job.groups.begin()));
    }
    made_.job.programs.push_back(std::make_shared<const Program>(std::move(written.program)));
    made_.job.ranks.push_back(std::move(assignment));
    made_.programs.push_back(std::move(written));
  }

  Replay made_;
  std::vector<std::vector<RecordedCollective>> collectives_;  // by rank
  Nanoseconds begin_ = std::numeric_limits<Nanoseconds>::max();
};

}  // namespace

Replay make_replay(std::vector<RecordedTrace> traces) {
  return Assembly{std::move(traces)}.run();
}

}  // namespace lockstep::replay
