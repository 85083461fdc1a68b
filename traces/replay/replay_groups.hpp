#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/job.hpp"
#include "traces/replay/rank_recording.hpp"

namespace lockstep::replay {

/// Process groups of a replay: who meets whom, where traces stand for several ranks, too. Rank r does what
/// trace r mod (number of traces) does.
///
///   group as recorded                        in a replay of more ranks
///   all of the job                           all ranks
///   all its members have traces              once for every multiple of the traces
///   others, where the traces are those of    of the recorded size, at the recorded distance (lay_out());
///   ranks 0, 1, ..., or there is one         of a single trace that does not say it: neighbours
///   not said, of a single trace              all ranks
///   else                                     as many members as have traces
///
/// Told in the first trace's report, but for the first two.
class ReplayGroups {
 public:
  /// All by trace; @p groups are those of the job, which are added to.
  ReplayGroups(std::uint32_t ranks, std::vector<RankRecording>& recordings,
               const std::vector<std::vector<RecordedCollective>>& collectives,
               std::vector<ProcessGroup>& groups)
      : ranks_{ranks}, recordings_{recordings}, collectives_{collectives}, groups_{groups} {}

  /// Tells whether the collective meets itself (RecordedCollective::meets_itself).
  [[nodiscard]] bool meets_itself(const RecordedCollective& collective) const;

  /// Name of the group of a meeting: one for each stream and recorded group, because every NCCL communicator
  /// has a stream of its own.
  /// @throws std::invalid_argument when a single trace's group does not divide the ranks
  const std::string& of(const CollectiveMeeting& meeting);

  /// Index into the job's groups.
  [[nodiscard]] std::uint32_t number(const std::string& name, std::uint32_t rank) const {
    return of_rank_.at(name)[rank];
  }

 private:
  [[nodiscard]] std::uint32_t traces() const { return static_cast<std::uint32_t>(recordings_.size()); }
  [[nodiscard]] bool is_of_whole_job(const RecordedCollective& collective) const;
  [[nodiscard]] bool are_the_first() const;
  [[nodiscard]] const RecordedCollective& first_of(const CollectiveMeeting& meeting) const;
  void add(const CollectiveMeeting& meeting, const std::string& name);
  bool lays_out(const CollectiveMeeting& meeting, const std::string& name);
  void repeat(const CollectiveMeeting& meeting, const std::string& name);

  std::uint32_t ranks_;
  std::vector<RankRecording>& recordings_;
  const std::vector<std::vector<RecordedCollective>>& collectives_;
  std::vector<ProcessGroup>& groups_;
  std::map<std::pair<std::uint32_t, std::string>, std::string> names_;  // by stream and recorded group
  std::map<std::string, std::vector<std::uint32_t>> of_rank_;
};

}  // namespace lockstep::replay
