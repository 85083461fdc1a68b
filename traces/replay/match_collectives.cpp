#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "traces/replay/communication.hpp"

namespace lockstep::replay {
namespace {

constexpr Oddity kAlone{"collective without partners",
                        "other ranks' traces do not hold it (it ended outside their windows), or hold it in "
                        "another order; replayed as a kernel of its duration",
                        Severity::Warning};
constexpr Oddity kPairAlone{"send or receive without its partner",
                            "no trace holds the other end, or which rank that is is not said, or it was sent "
                            "before its receiver was there; replayed as a kernel of its duration, so that no "
                            "change shortens what it waited for",
                            Severity::Warning};
constexpr Oddity kMatched{"collectives matched across ranks",
                          "by process group, kind and order, or by their ends where counts differ"};

constexpr Oddity kClock{"clock that differs from the first rank's",
                        "ends of collectives tell by how much; corrected"};

/// Members of one collective end together; where counts differ, ends that lie further apart are of others.
constexpr Nanoseconds kApart = 1'000'000;

struct Key {
  std::string group;
  CollectiveKind kind;
  std::int64_t source, target;  // ranks of sends and receives; else -1
  auto operator<=>(const Key&) const = default;
};

class Matching {
 public:
  explicit Matching(std::span<const RankCollectives> ranks) : ranks_{ranks}, offsets_(ranks.size(), 0) {}

  MatchedCollectives run() {
    std::map<Key, std::vector<std::vector<std::uint32_t>>> lists;  // by trace, by end
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto& collectives = *ranks_[rank].collectives;
      for (std::uint32_t i = 0; i < collectives.size(); ++i) {
        const std::optional<Key> key = key_of(rank, collectives[i]);
        if (!key) {
          continue;
        }
        auto& by_rank = lists[*key];
        by_rank.resize(ranks_.size());
        by_rank[rank].push_back(i);
      }
    }
    for (auto& [key, by_rank] : lists) {
      for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        std::ranges::sort(by_rank[rank], {}, [&](std::uint32_t i) { return end_of(rank, i); });
      }
      match(by_rank);
    }
    find_clock_offsets();
    order();
    return {std::move(meetings_), std::move(offsets_)};
  }

 private:
  /// Messages from one rank to another keep their order; empty: one end is not known.
  [[nodiscard]] std::optional<Key> key_of(std::size_t rank, const RecordedCollective& collective) const {
    if (!collective.is_pair()) {
      return Key{collective.group, collective.kind, -1, -1};
    }
    const std::int64_t own = ranks_[rank].trace->rank;
    if (own < 0 || collective.peer < 0 || collective.peer == own) {
      return std::nullopt;
    }
    return collective.kind == CollectiveKind::Send
               ? Key{collective.group, CollectiveKind::Send, own, collective.peer}
               : Key{collective.group, CollectiveKind::Send, collective.peer, own};
  }

  [[nodiscard]] bool is_pair(const CollectiveMeeting& meeting) const {
    const std::size_t rank = first_member(meeting);
    return (*ranks_[rank].collectives)[meeting.members[rank]].is_pair();
  }

  /// A message that ends before its receiver has begun waited in a buffer: the two did not meet.
  [[nodiscard]] bool was_buffered(const CollectiveMeeting& meeting) const {
    return is_pair(meeting) && first_end(meeting) < meeting.last_arrival;
  }

  [[nodiscard]] Nanoseconds first_end(const CollectiveMeeting& meeting) const {
    Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (meeting.members[rank] != kNone) {
        first = std::min(first, end_of(rank, meeting.members[rank]) - offsets_[rank]);
      }
    }
    return first;
  }

  [[nodiscard]] std::uint32_t work_of(std::size_t rank, std::uint32_t i) const {
    return (*ranks_[rank].collectives)[i].work;
  }
  [[nodiscard]] Nanoseconds end_of(std::size_t rank, std::uint32_t i) const {
    return ranks_[rank].trace->work[work_of(rank, i)].end;
  }

  /// Ranks that have none of them are not in the group.
  void match(const std::vector<std::vector<std::uint32_t>>& lists) {
    std::size_t first = lists.size();
    bool is_even = true;
    std::size_t members = 0;
    for (std::size_t rank = lists.size(); rank-- > 0;) {
      if (!lists[rank].empty()) {
        is_even = is_even && (members == 0 || lists[rank].size() == lists[first].size());
        first = rank;
        ++members;
      }
    }
    const bool is_alone = members == 1 && std::ranges::all_of(lists[first], [&](std::uint32_t i) {
                            return (*ranks_[first].collectives)[i].meets_itself;
                          });
    if (members < 2 && !is_alone) {
      return;
    }
    std::vector<std::size_t> next(lists.size(), 0);
    for (std::size_t k = 0; k < lists[first].size(); ++k) {
      CollectiveMeeting meeting;
      meeting.members.assign(lists.size(), kNone);
      bool complete = true;
      for (std::size_t rank = first; rank < lists.size(); ++rank) {
        if (lists[rank].empty()) {
          continue;
        }
        const std::size_t place =
            is_even ? k : nearest(lists, rank, next[rank], end_of(first, lists[first][k]));
        complete = complete && place < lists[rank].size();
        if (place < lists[rank].size()) {
          meeting.members[rank] = lists[rank][place];
        }
      }
      if (!complete) {
        continue;
      }
      for (std::size_t rank = first; rank < lists.size() && !is_even; ++rank) {
        const auto at = std::ranges::find(lists[rank], meeting.members[rank]);
        next[rank] = static_cast<std::size_t>(at - lists[rank].begin()) + 1;
      }
      meetings_.push_back(std::move(meeting));
    }
  }

  /// The place in a rank's list, from @p from on, that ends nearest to @p end; beyond it: none near enough.
  [[nodiscard]] std::size_t nearest(const std::vector<std::vector<std::uint32_t>>& lists, std::size_t rank,
                                    std::size_t from, Nanoseconds end) const {
    std::size_t best = lists[rank].size();
    Nanoseconds distance = kApart;
    for (std::size_t place = from; place < lists[rank].size(); ++place) {
      const Nanoseconds apart = std::abs(end_of(rank, lists[rank][place]) - end);
      if (apart < distance) {
        distance = apart;
        best = place;
      }
    }
    return best;
  }

  /// Against the first member of each collective, whose own offset is known by then.
  void find_clock_offsets() {
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      std::vector<Nanoseconds> apart = ends_apart(rank, false);
      apart = apart.empty() ? ends_apart(rank, true) : apart;
      std::ranges::sort(apart);
      offsets_[rank] = apart.empty() ? 0 : apart[apart.size() / 2];
      if (offsets_[rank] != 0) {
        ranks_[rank].trace->report.add(kClock,
                                       fmt::format("{} us", static_cast<double>(offsets_[rank]) / 1000));
      }
    }
  }

  /// @param pairs of sends and receives, the former of which may end earlier; else of collectives
  [[nodiscard]] std::vector<Nanoseconds> ends_apart(std::size_t rank, bool pairs) const {
    std::vector<Nanoseconds> apart;
    for (const CollectiveMeeting& meeting : meetings_) {
      const std::size_t first = first_member(meeting);
      if (meeting.members[rank] != kNone && first < rank && is_pair(meeting) == pairs) {
        apart.push_back(end_of(rank, meeting.members[rank]) - end_of(first, meeting.members[first]) +
                        offsets_[first]);
      }
    }
    return apart;
  }

  /// Streams, arrivals and ends; leaves out what members issue in different orders.
  void order() {
    std::map<std::vector<std::uint32_t>, std::uint32_t> streams;  // lanes by trace -> number
    for (CollectiveMeeting& meeting : meetings_) {
      std::vector<std::uint32_t> lanes;
      std::vector<Nanoseconds> ends;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (meeting.members[rank] == kNone) {
          lanes.push_back(kNone);
          continue;
        }
        const std::uint32_t work = work_of(rank, meeting.members[rank]);
        lanes.push_back(ranks_[rank].links->lane_of_work[work]);
        ends.push_back(ranks_[rank].trace->work[work].end - offsets_[rank]);
        meeting.last_arrival =
            std::max(meeting.last_arrival, ranks_[rank].trace->work[work].start - offsets_[rank]);
      }
      std::ranges::sort(ends);
      meeting.end = std::max(meeting.last_arrival, ends[ends.size() / 2]);
      meeting.stream = streams.try_emplace(lanes, static_cast<std::uint32_t>(streams.size())).first->second;
    }
    std::erase_if(meetings_, [this](const CollectiveMeeting& meeting) { return was_buffered(meeting); });
    std::ranges::sort(meetings_, {}, [&](const CollectiveMeeting& m) {
      return std::pair{m.stream, first_work(m)};
    });
    leave_out_disorder();
  }

  static std::size_t first_member(const CollectiveMeeting& meeting) {
    std::size_t rank = 0;
    while (meeting.members[rank] == kNone) {
      ++rank;
    }
    return rank;
  }

  [[nodiscard]] std::uint32_t first_work(const CollectiveMeeting& meeting) const {
    const std::size_t rank = first_member(meeting);
    return work_of(rank, meeting.members[rank]);
  }

  void leave_out_disorder() {
    std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> latest;  // work by stream and trace
    std::vector<CollectiveMeeting> kept;
    for (CollectiveMeeting& meeting : meetings_) {
      bool in_order = true;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const auto before = latest.find({meeting.stream, rank});
        in_order = in_order && (meeting.members[rank] == kNone || before == latest.end() ||
                                before->second < work_of(rank, meeting.members[rank]));
      }
      if (!in_order) {
        continue;
      }
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (meeting.members[rank] != kNone) {
          latest[{meeting.stream, rank}] = work_of(rank, meeting.members[rank]);
        }
      }
      kept.push_back(std::move(meeting));
    }
    meetings_ = std::move(kept);
    report();
  }

  void report() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::set<std::uint32_t> matched;
      for (const CollectiveMeeting& meeting : meetings_) {
        matched.insert(meeting.members[rank]);
      }
      kineto::RecordedTrace& trace = *ranks_[rank].trace;
      for (std::uint32_t i = 0; i < ranks_[rank].collectives->size(); ++i) {
        if (matched.contains(i) || !(*ranks_[rank].collectives)[i].is_pair()) {
          trace.report.add(matched.contains(i) ? kMatched : kAlone,
                           trace.names.text(trace.work[work_of(rank, i)].name));
        }
      }
      tell_pairs_alone(trace, *ranks_[rank].collectives, matched);
    }
  }

  std::span<const RankCollectives> ranks_;
  std::vector<Nanoseconds> offsets_;  // of clocks
  std::vector<CollectiveMeeting> meetings_;
};

}  // namespace

void tell_pairs_alone(kineto::RecordedTrace& trace, const std::vector<RecordedCollective>& collectives,
                      const std::set<std::uint32_t>& matched) {
  Nanoseconds alone = 0;
  Nanoseconds whole = 1;  // of a trace whose times are 0
  std::uint64_t pairs = 0;
  for (std::uint32_t i = 0; i < collectives.size(); ++i) {
    const Nanoseconds duration = trace.work[collectives[i].work].duration();
    whole += duration;
    if (collectives[i].is_pair() && !matched.contains(i)) {
      alone += duration;
      ++pairs;
    }
  }
  if (pairs > 0) {
    const double share = static_cast<double>(alone) / static_cast<double>(whole);
    trace.report.add(
        kPairAlone,
        fmt::format("{:.0f} % of the time of communication kernels in {}", 100 * share, trace.file), pairs);
  }
}

MatchedCollectives match_collectives(std::span<const RankCollectives> ranks) {
  return Matching{ranks}.run();
}

}  // namespace lockstep::replay
