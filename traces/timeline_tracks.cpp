#include "traces/timeline_tracks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/units.hpp"
#include "traces/json_text.hpp"

namespace lockstep {
namespace {

double microseconds_of(double seconds) {
  return static_cast<double>(std::llround(seconds * 1e9)) / 1e3;  // whole nanoseconds
}

class TrackWriter {
 public:
  TrackEvents events;

  void process(std::uint64_t pid, int place, std::string_view name) {
    add(R"({{"name":"process_name","ph":"M","ts":0.000,"pid":{},"tid":0,"args":{{"name":"{}"}}}})", pid,
        name);
    add(R"({{"name":"process_sort_index","ph":"M","ts":0.000,"pid":{},"tid":0,"args":{{"sort_index":{}}}}})",
        pid, place);
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    events.text += ",\n";
    fmt::format_to(std::back_inserter(events.text), format, std::forward<Args>(args)...);
  }
};

}  // namespace

std::vector<LinkTrack> link_tracks(const Fabric& fabric, std::vector<LinkLoads> loads) {
  std::vector<LinkTrack> tracks;
  for (LinkLoads& one : loads) {
    const Link& link = fabric.links()[one.link];
    tracks.push_back({fmt::format("{} of {}", fabric.name_of(one.link), to_string(link.bandwidth)),
                      std::move(one.changes)});
  }
  return tracks;
}

double gigabytes(const MemoryBreakdown& held) {
  return held.total().in_base_units() / 1e9;
}

std::string path_lane(const Job& job, const PathPiece& piece) {
  const Program& program = *job.programs[job.ranks[piece.rank].program];
  return fmt::format(
      "rank {} {}", piece.rank,
      piece.on_host ? program.threads[piece.lane].name + " thread" : "stream " + program.streams[piece.lane]);
}

TrackEvents track_events(const Job& job, const TimelineTracks& tracks, std::uint64_t first_pid) {
  TrackWriter writer;
  if (!tracks.path.empty()) {
    writer.process(first_pid, -2, "critical path");
    writer.add(
        R"({{"name":"thread_name","ph":"M","ts":0.000,"pid":{0},"tid":{0},"args":{{"name":"of the last step"}}}})",
        first_pid);
  }
  for (const PathPiece& piece : tracks.path) {
    const double start = microseconds_of(piece.start);
    writer.add(
        R"({{"ph":"X","cat":"critical_path","name":{},"args":{{}},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
        json_string(path_lane(job, piece)), first_pid, first_pid, start, microseconds_of(piece.end) - start);
    ++writer.events.count;
  }
  const std::uint64_t links_pid = first_pid + 1;
  if (!tracks.links.empty()) {
    writer.process(links_pid, -1, "busiest links");
  }
  for (const LinkTrack& link : tracks.links) {
    const std::string name = json_string(link.name);
    for (const LoadChange& change : link.changes) {
      writer.add(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{:.3f},"args":{{"GB/s":{:.4g}}}}})", name,
                 links_pid, microseconds_of(change.date), change.rate / 1e9);
      ++writer.events.count;
    }
  }
  for (const MemoryCourse& course : tracks.memory) {
    for (const MemoryLevel& level : course.levels) {
      writer.add(R"({{"ph":"C","name":"{}","pid":{},"tid":0,"ts":{:.3f},"args":{{"GB":{}}}}})", kMemoryTrack,
                 course.rank, microseconds_of(level.date), gigabytes(level.held));
      ++writer.events.count;
    }
  }
  return std::move(writer.events);
}

}  // namespace lockstep
