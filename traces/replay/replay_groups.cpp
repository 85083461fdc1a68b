#include "traces/replay/replay_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace lockstep::replay {
namespace {

constexpr Oddity kLaidOut{"process groups of ranks that one trace stands for",
                          "each of the recorded size, its ranks as far apart as recorded", Severity::Guess};
constexpr Oddity kNeighbours{"process groups whose ranks are not said",
                             "or do not divide the ranks of the replay as recorded: taken as neighbours",
                             Severity::Guess};
constexpr Oddity kNotSaid{"process groups that the trace does not say", "taken as all ranks",
                          Severity::Guess};
constexpr Oddity kShrunk{"process groups with members whose traces are missing",
                         "they meet as fewer ranks than recorded: give more traces, or 'ranks' that they can "
                         "stand for",
                         Severity::Warning};

std::string named(const RecordedCollective& recorded) {
  return fmt::format("group '{}'", recorded.group.substr(0, recorded.group.find('[')));
}

}  // namespace

bool ReplayGroups::is_of_whole_job(const RecordedCollective& collective) const {
  std::int64_t world = std::max<std::int64_t>(recordings_.front().trace.world_size, traces());
  if (recordings_.front().trace.world_size <= 0) {  // not said: at least the largest group
    for (const std::vector<RecordedCollective>& of_trace : collectives_) {
      for (const RecordedCollective& other : of_trace) {
        world = std::max(world, other.stated.size);
      }
    }
  }
  return collective.stated.size >= world;
}

/// Whether the traces are of ranks 0, 1, ...: then numbers of groups are those of the replay. A single one
/// stands for all.
bool ReplayGroups::are_the_first() const {
  for (std::size_t i = 0; i < recordings_.size(); ++i) {
    if (traces() > 1 && recordings_[i].trace.rank != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return true;
}

bool ReplayGroups::meets_itself(const RecordedCollective& collective) const {
  if (ranks_ == traces() || collective.is_pair() || is_of_whole_job(collective) || !are_the_first()) {
    return false;
  }
  const GroupLayout layout = lay_out(collective.stated, ranks_);
  return layout.keeps_distance && std::ranges::all_of(layout.groups, [&](const auto& group) {
           return std::ranges::all_of(
               group, [&](std::uint32_t rank) { return rank % traces() == group.front() % traces(); });
         });
}

const RecordedCollective& ReplayGroups::first_of(const CollectiveMeeting& meeting) const {
  const auto first = std::ranges::find_if(meeting.members, [](std::uint32_t i) { return i != kNone; });
  return collectives_[static_cast<std::size_t>(first - meeting.members.begin())][*first];
}

const std::string& ReplayGroups::of(const CollectiveMeeting& meeting) {
  const auto [name, fresh] =
      names_.try_emplace({meeting.stream, first_of(meeting).group}, fmt::format("group {}", names_.size()));
  if (fresh) {
    add(meeting, name->second);
  }
  return name->second;
}

void ReplayGroups::add(const CollectiveMeeting& meeting, const std::string& name) {
  of_rank_[name].resize(ranks_);
  const RecordedCollective& recorded = first_of(meeting);
  const auto members =
      static_cast<std::int64_t>(meeting.members.size()) - std::ranges::count(meeting.members, kNone);
  const bool is_whole = is_of_whole_job(recorded);
  const bool is_partial = recorded.stated.size > members && !recorded.is_pair() && !is_whole;
  if (is_partial && lays_out(meeting, name)) {
    return;
  }
  ImportReport& report = recordings_.front().trace.report;
  if (is_partial || (is_whole && recorded.stated.size > ranks_)) {
    report.add(kShrunk, fmt::format("{} of {} ranks as {}", named(recorded), recorded.stated.size,
                                    is_partial ? members : static_cast<std::int64_t>(ranks_)));
  } else if (traces() == 1 && recorded.stated.size < 0) {
    report.add(kNotSaid, to_string(recorded.kind));
  }
  repeat(meeting, name);
}

/// Not where members would do what no member's trace does.
bool ReplayGroups::lays_out(const CollectiveMeeting& meeting, const std::string& name) {
  const RecordedCollective& recorded = first_of(meeting);
  const GroupLayout layout = lay_out(recorded.stated, ranks_);
  if (layout.groups.empty() && traces() == 1) {
    throw std::invalid_argument{fmt::format("{} ranks cannot be in groups of {}, as {} is: say a multiple",
                                            ranks_, recorded.stated.size, named(recorded))};
  }
  if (layout.groups.empty() || (traces() > 1 && (!layout.keeps_distance || !are_the_first()))) {
    return false;
  }
  std::vector<const std::vector<std::uint32_t>*> own;
  for (const std::vector<std::uint32_t>& group : layout.groups) {
    const auto number = std::ranges::count_if(
        group, [&](std::uint32_t rank) { return meeting.members[rank % traces()] != kNone; });
    if (number != 0 && number != std::ssize(group)) {
      return false;
    }
    if (number != 0) {
      own.push_back(&group);
    }
  }
  for (const std::vector<std::uint32_t>* group : own) {
    for (const std::uint32_t rank : *group) {
      of_rank_[name][rank] = static_cast<std::uint32_t>(groups_.size());
    }
    groups_.push_back({name, *group});
  }
  recordings_.front().trace.report.add(
      layout.keeps_distance ? kLaidOut : kNeighbours,
      fmt::format("{}: {} times {} ranks, the first {}", named(recorded), own.size(), recorded.stated.size,
                  fmt::join(*own.front(), ", ")));
  return true;
}

/// A group of all traces is one of all ranks, others are there once for every multiple.
void ReplayGroups::repeat(const CollectiveMeeting& meeting, const std::string& name) {
  const bool is_whole =
      std::ranges::find(meeting.members, kNone) == meeting.members.end() && !first_of(meeting).is_pair();
  for (std::uint32_t first = 0; first < ranks_; first += traces()) {
    if (first == 0 || !is_whole) {
      groups_.push_back({groups_.empty() && is_whole ? "world" : name, {}});
    }
    for (std::uint32_t member = 0; member < traces(); ++member) {
      if (meeting.members[member] != kNone) {
        of_rank_[name][first + member] = static_cast<std::uint32_t>(groups_.size() - 1);
        groups_.back().ranks.push_back(first + member);
      }
    }
  }
}

}  // namespace lockstep::replay
