#pragma once

/// @file
/// Writes a simulation's timeline as Perfetto's TrackEvent protobuf, for jobs with more events than viewers
/// of JSON take. Field numbers: google/perfetto protos/perfetto/trace/{trace_packet,track_event/*}.proto.

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/job.hpp"
#include "sim/critical_path.hpp"
#include "sim/timeline.hpp"
#include "topology/fabric.hpp"
#include "traces/block_compressor.hpp"
#include "traces/chrome_trace_header.hpp"
#include "traces/gzip_file.hpp"
#include "traces/timeline_tracks.hpp"

namespace lockstep {

/// A protobuf message under construction.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value);
  ProtoMessage& fixed(std::uint32_t field, std::uint64_t value);
  ProtoMessage& text(std::uint32_t field, std::string_view value);
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  std::string bytes_;
};

struct PerfettoTraceOptions {
  std::filesystem::path path;        ///< gzip, which Perfetto reads as it is
  std::vector<std::uint32_t> ranks;  ///< only these
  std::uint32_t first_step = 0;      ///< steps before it are not written
};

/// A process for each rank's host and one for its GPU, a thread for each host thread and stream, a track of
/// the critical path, and counters of what links carry and GPUs hold. Names are interned. A collective has
/// the slice `waiting` in it, until the last member has arrived; arrows lead from launches to what they
/// launched. The file appears under its name at finish().
class PerfettoTraceWriter final : public TimelineSink {
 public:
  /// @param job checked; must outlive the writer
  /// @param vertices Fabric::vertices(); used in the constructor only
  /// @throws InputError when the file cannot be created
  PerfettoTraceWriter(const Job& job, std::span<const Vertex> vertices, PerfettoTraceOptions options);

  void write(std::span<const TimelineSpan> spans) override;

  /// @throws InputError when the disk did not take the file
  void finish(const TimelineTracks& tracks);

  [[nodiscard]] const std::filesystem::path& path() const { return options_.path; }

 private:
  /// A host thread; its spans arrive with the inner ones first, and are written in order of time.
  struct HostLane {
    std::uint64_t track = 0;
    std::uint32_t step = 0;
    std::vector<TimelineSpan> spans;
  };
  struct RankTracks {
    bool is_shown = false;
    std::vector<HostLane> threads;
    std::vector<std::uint64_t> streams;
    std::uint64_t gpu = 0;
  };

  void describe(const RankLanes& lanes, std::span<const Vertex> vertices);
  void describe_process(std::uint64_t track, std::uint64_t pid, const std::string& name);
  void describe_thread(std::uint64_t track, std::uint64_t pid, std::uint64_t tid, const std::string& name);
  void write_path(std::span<const PathPiece> path);
  void write_links(std::span<const LinkTrack> links);
  void write_memory(std::span<const MemoryCourse> courses);
  /// @return the counter's track
  std::uint64_t describe_counter(const std::string& name, const std::string& unit, std::uint64_t parent);
  void count(std::uint64_t track, double seconds, double value);
  void write_gpu(const TimelineSpan& span, std::uint64_t track);
  void flush(HostLane& lane);
  void begin(std::uint64_t track, double seconds, const std::string& name, ProtoMessage event = {});
  void end(std::uint64_t track, double seconds);
  void packet(ProtoMessage packet);
  [[nodiscard]] std::uint64_t flow_of(const TimelineSpan& span) const;

  const Job& job_;
  PerfettoTraceOptions options_;
  BlockCompressor compressor_;
  GzipFile file_;
  std::vector<RankTracks> tracks_;  ///< by rank
  std::map<std::string, std::uint64_t, std::less<>> names_;
  std::uint64_t last_track_ = 0;
};

}  // namespace lockstep
