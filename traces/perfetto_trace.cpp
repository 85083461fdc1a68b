#include "traces/perfetto_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "traces/span_names.hpp"
#include "traces/timeline_text.hpp"

namespace lockstep {
namespace {

// Trace, TracePacket
constexpr std::uint32_t kPacket = 1, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
// TrackEvent
constexpr std::uint32_t kType = 9, kNameNumber = 10, kTrack = 11, kCount = 44, kFlow = 47, kFlowEnds = 48;
constexpr std::uint64_t kSliceBegins = 1, kSliceEnds = 2, kCounts = 4;
// InternedData, EventName
constexpr std::uint32_t kEventNames = 2, kInternedNumber = 1, kInternedName = 2;
// TrackDescriptor, ProcessDescriptor, ThreadDescriptor, CounterDescriptor
constexpr std::uint32_t kTrackNumber = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParent = 5,
                        kCounter = 8, kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6, kUnitName = 6;

constexpr std::size_t kBlock = std::size_t{1} << 20;

std::uint64_t from_start(double seconds) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::llround(seconds * 1e9)));
}

}  // namespace

void ProtoMessage::varint(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>(0x80U | (value & 0x7fU));
    value >>= 7U;
  }
  bytes_ += static_cast<char>(value);
}

ProtoMessage& ProtoMessage::number(std::uint32_t field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3U);
  varint(value);
  return *this;
}

ProtoMessage& ProtoMessage::fixed(std::uint32_t field, std::uint64_t value) {
  varint((std::uint64_t{field} << 3U) | 1U);
  for (unsigned byte = 0; byte < sizeof value; ++byte) {
    bytes_ += static_cast<char>((value >> (8U * byte)) & 0xffU);
  }
  return *this;
}

ProtoMessage& ProtoMessage::text(std::uint32_t field, std::string_view value) {
  varint((std::uint64_t{field} << 3U) | 2U);
  varint(value.size());
  bytes_ += value;
  return *this;
}

PerfettoTraceWriter::PerfettoTraceWriter(const Job& job, std::span<const Vertex> vertices,
                                         PerfettoTraceOptions options)
    : job_{job},
      options_{std::move(options)},
      compressor_{1, 1},
      file_{options_.path, compressor_, kBlock},
      tracks_(job.ranks.size()) {
  packet(std::move(ProtoMessage{}.number(kSequenceFlags, kStateCleared)));
  for (const RankLanes& lanes : lanes_of(job_, vertices, options_.ranks, false)) {
    describe(lanes, vertices);
  }
}

void PerfettoTraceWriter::packet(ProtoMessage packet) {
  constexpr std::uint64_t kOurs = 1;
  packet.number(kSequence, kOurs);
  file_.append(ProtoMessage{}.message(kPacket, packet).bytes());
}

void PerfettoTraceWriter::describe_process(std::uint64_t track, std::uint64_t pid, const std::string& name) {
  ProtoMessage process, descriptor, described;
  process.number(kPid, pid).text(kProcessName, name);
  descriptor.number(kTrackNumber, track).message(kProcess, process);
  packet(std::move(described.message(kTrackDescriptor, descriptor)));
}

void PerfettoTraceWriter::describe_thread(std::uint64_t track, std::uint64_t pid, std::uint64_t tid,
                                          const std::string& name) {
  ProtoMessage thread, descriptor, described;
  thread.number(kPid, pid).number(kTid, tid).text(kThreadName, name);
  descriptor.number(kTrackNumber, track).message(kThread, thread);
  packet(std::move(described.message(kTrackDescriptor, descriptor)));
}

void PerfettoTraceWriter::describe(const RankLanes& lanes, std::span<const Vertex> vertices) {
  const Program& program = *job_.programs[job_.ranks[lanes.rank].program];
  const Vertex& gpu = vertices[job_.ranks[lanes.rank].gpu];
  RankTracks& tracks = tracks_[lanes.rank];
  tracks.is_shown = true;
  // GPUs have the pids behind the hosts': Perfetto knows a process by its pid.
  const std::uint64_t gpu_pid = lanes.host_pid + job_.ranks.size();
  describe_process(++last_track_, lanes.host_pid, fmt::format("rank {} host", lanes.rank));
  for (std::size_t i = 0; i < program.threads.size(); ++i) {
    tracks.threads.push_back({++last_track_, 0, {}});
    describe_thread(last_track_, lanes.host_pid, host_tid(lanes, i),
                    fmt::format("thread {} ({})", i, program.threads[i].name));
  }
  tracks.gpu = ++last_track_;
  describe_process(tracks.gpu, gpu_pid, fmt::format("rank {} GPU ({})", lanes.rank, gpu.name));
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    tracks.streams.push_back(++last_track_);
    const std::uint32_t number = stream_number(program, i);
    describe_thread(last_track_, gpu_pid, number, fmt::format("stream {} ({})", number, program.streams[i]));
  }
}

std::uint64_t PerfettoTraceWriter::flow_of(const TimelineSpan& span) const {
  return std::uint64_t{span.correlation} * job_.ranks.size() + span.rank;
}

void PerfettoTraceWriter::begin(std::uint64_t track, double seconds, const std::string& name,
                                ProtoMessage event) {
  ProtoMessage begun;
  begun.number(kTimestamp, from_start(seconds)).number(kSequenceFlags, kNeedsState);
  auto known = names_.find(name);
  if (known == names_.end()) {
    known = names_.emplace(name, names_.size() + 1).first;
    ProtoMessage event_name, interned;
    event_name.number(kInternedNumber, known->second).text(kInternedName, name);
    begun.message(kInternedData, interned.message(kEventNames, event_name));
  }
  event.number(kType, kSliceBegins).number(kTrack, track).number(kNameNumber, known->second);
  packet(std::move(begun.message(kTrackEvent, event)));
}

void PerfettoTraceWriter::end(std::uint64_t track, double seconds) {
  ProtoMessage event, ended;
  event.number(kType, kSliceEnds).number(kTrack, track);
  packet(std::move(ended.number(kTimestamp, from_start(seconds)).message(kTrackEvent, event)));
}

void PerfettoTraceWriter::write(std::span<const TimelineSpan> spans) {
  for (const TimelineSpan& span : spans) {
    RankTracks& tracks = tracks_[span.rank];
    if (!tracks.is_shown || span.step < options_.first_step) {
      continue;
    }
    if (is_on_gpu(span)) {
      write_gpu(span, tracks.streams[span.stream]);
      continue;
    }
    HostLane& lane = tracks.threads[span.thread];
    if (span.step != lane.step) {
      flush(lane);
      lane.step = span.step;
    }
    lane.spans.push_back(span);
  }
}

void PerfettoTraceWriter::write_gpu(const TimelineSpan& span, std::uint64_t track) {
  ProtoMessage event;
  if (span.correlation != 0) {
    event.fixed(kFlowEnds, flow_of(span));
  }
  begin(track, span.start, span_name(job_, span), std::move(event));
  if (span.kind == SpanKind::Collective && span.transfer_start > span.start) {
    begin(track, span.start, "waiting");
    end(track, span.transfer_start);
  }
  end(track, span.end);
}

void PerfettoTraceWriter::flush(HostLane& lane) {
  std::ranges::stable_sort(lane.spans, [](const TimelineSpan& a, const TimelineSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<double> open;  // ends of the slices around
  for (const TimelineSpan& span : lane.spans) {
    for (; !open.empty() && open.back() <= span.start; open.pop_back()) {
      end(lane.track, open.back());
    }
    ProtoMessage event;
    if (span.correlation != 0) {
      event.fixed(kFlow, flow_of(span));
    }
    begin(lane.track, span.start, span_name(job_, span), std::move(event));
    open.push_back(span.end);
  }
  for (; !open.empty(); open.pop_back()) {
    end(lane.track, open.back());
  }
  lane.spans.clear();
}

void PerfettoTraceWriter::write_path(std::span<const PathPiece> path) {
  if (path.empty()) {
    return;
  }
  const std::uint64_t track = ++last_track_;
  ProtoMessage descriptor, described;
  descriptor.number(kTrackNumber, track).text(kTrackName, "critical path of the last step");
  packet(std::move(described.message(kTrackDescriptor, descriptor)));
  for (const PathPiece& piece : path) {
    begin(track, piece.start, path_lane(job_, piece));
    end(track, piece.end);
  }
}

void PerfettoTraceWriter::write_links(std::span<const LinkTrack> links) {
  if (links.empty()) {
    return;
  }
  const std::uint64_t parent = ++last_track_;
  ProtoMessage group, described_group;
  group.number(kTrackNumber, parent).text(kTrackName, "busiest links");
  packet(std::move(described_group.message(kTrackDescriptor, group)));
  for (const LinkTrack& link : links) {
    const std::uint64_t track = describe_counter(link.name, "GB/s", parent);
    for (const LoadChange& change : link.changes) {
      count(track, change.date, change.rate / 1e9);
    }
  }
}

void PerfettoTraceWriter::write_memory(std::span<const MemoryCourse> courses) {
  for (const MemoryCourse& course : courses) {
    const std::uint64_t track = describe_counter(kMemoryTrack, "GB", tracks_[course.rank].gpu);
    for (const MemoryLevel& level : course.levels) {
      count(track, level.date, gigabytes(level.held));
    }
  }
}

std::uint64_t PerfettoTraceWriter::describe_counter(const std::string& name, const std::string& unit,
                                                    std::uint64_t parent) {
  const std::uint64_t track = ++last_track_;
  ProtoMessage counter, descriptor, described;
  counter.text(kUnitName, unit);
  descriptor.number(kTrackNumber, track).text(kTrackName, name).number(kParent, parent);
  descriptor.message(kCounter, counter);
  packet(std::move(described.message(kTrackDescriptor, descriptor)));
  return track;
}

void PerfettoTraceWriter::count(std::uint64_t track, double seconds, double value) {
  ProtoMessage event, counted;
  event.number(kType, kCounts).number(kTrack, track).fixed(kCount, std::bit_cast<std::uint64_t>(value));
  packet(std::move(counted.number(kTimestamp, from_start(seconds)).message(kTrackEvent, event)));
}

void PerfettoTraceWriter::finish(const TimelineTracks& tracks) {
  for (RankTracks& of_rank : tracks_) {
    for (HostLane& lane : of_rank.threads) {
      flush(lane);
    }
  }
  write_path(tracks.path);
  write_links(tracks.links);
  write_memory(tracks.memory);
  file_.complete();
  file_.publish();
}

}  // namespace lockstep
