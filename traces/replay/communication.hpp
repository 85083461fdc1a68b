#pragma once

/// @file
/// Which GPU work communicates, what it is, and which kernels of several ranks are one collective.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "ops/collectives/collective.hpp"
#include "traces/replay/group_layout.hpp"
#include "traces/replay/trace_links.hpp"
#include "traces/replay/work_families.hpp"

namespace lockstep::replay {

/// A communication kernel as one rank's trace shows it.
struct RecordedCollective {
  std::uint32_t work = kNone;
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::string group;  ///< name of the process group; empty: not said
  double size = -1;   ///< bytes as CollectiveCall::size counts; < 0: not said
  DataType type = DataType::FP32;
  std::vector<double> send_bytes;  ///< all-to-all with recorded splits: by member
  std::int64_t peer = -1;          ///< of a send or receive: rank of the other end; < 0: not said
  StatedGroup stated;
  /// All other members do what this rank's trace does, so that it meets copies of itself alone.
  bool meets_itself = false;
  [[nodiscard]] bool is_pair() const {
    return kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
  }
};

/// Work of family `communication`, in the order of RecordedTrace::work.
struct FoundCommunication {
  std::vector<RecordedCollective> collectives;  ///< of which is known what they are
  std::vector<std::uint32_t> of_unknown_kind;   ///< work: takes its recorded time
};

/// @param families of kernels by work
/// @param ranks of the job, to convert what a rank puts in into CollectiveCall::size
[[nodiscard]] FoundCommunication find_communication(kineto::RecordedTrace& trace, const TraceLinks& links,
                                                    const WorkFamilies& families, std::int64_t ranks);

/// Several ranks' kernels that are one collective.
struct CollectiveMeeting {
  std::vector<std::uint32_t> members;  ///< by trace: index into its list of collectives; kNone: takes no part
  std::uint32_t stream = 0;            ///< collectives of one stream are issued in order by all members
  Nanoseconds last_arrival = 0;        ///< latest start, by the first trace's clock
  Nanoseconds end = 0;                 ///< median of the ends, likewise
};

struct MatchedCollectives {
  std::vector<CollectiveMeeting> meetings;
  /// The clock of each trace less the first one's. All members of a collective end together: this is the
  /// median difference of the ends. 0 where nothing was matched.
  std::vector<Nanoseconds> clock_offsets;
};

/// A rank's trace with what it communicates.
struct RankCollectives {
  kineto::RecordedTrace* trace = nullptr;
  const TraceLinks* links = nullptr;
  const std::vector<RecordedCollective>* collectives = nullptr;
};

/// Reports sends and receives that are not among the @p matched (indices into @p collectives), with their
/// share of the time of communication.
void tell_pairs_alone(kineto::RecordedTrace& trace, const std::vector<RecordedCollective>& collectives,
                      const std::set<std::uint32_t>& matched);

/// Matches by group, kind and end: all members of a collective end within microseconds of each other; sends
/// and receives by their ranks. What finds no partner, and does not meet itself, stays alone and is counted
/// in its trace's report. In order of the first trace's streams and starts.
[[nodiscard]] MatchedCollectives match_collectives(std::span<const RankCollectives> ranks);

}  // namespace lockstep::replay
