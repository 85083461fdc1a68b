#pragma once

/// @file
/// Writes a simulation's timeline as Chrome trace JSON in Kineto's layout, for Perfetto, chrome://tracing and
/// HTA. The layout is described in docs/timeline.md.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "sim/timeline.hpp"
#include "topology/fabric.hpp"
#include "traces/block_compressor.hpp"
#include "traces/chrome_trace_header.hpp"
#include "traces/gzip_file.hpp"
#include "traces/json_text.hpp"
#include "traces/timeline_text.hpp"
#include "traces/timeline_tracks.hpp"

namespace lockstep {

struct ChromeTraceOptions {
  std::filesystem::path path;  ///< of the merged file, e.g. `DIR/timeline.json.gz`
  /// `DIR/timeline.rank0.json.gz`, ... instead of one merged file: what HTA reads.
  bool file_per_rank = false;
  std::vector<std::uint32_t> ranks;  ///< only these; empty: all
  std::uint32_t first_step = 0;      ///< steps before it are not written
  std::string left_out{};            ///< TimelinePart::left_out, for the file's end
  NcclNames nccl_names = NcclNames::DevKernel;
  bool of_a_recording = false;     ///< a replay, whose host times are those that were recorded
  std::vector<std::string> noise;  ///< names of what interrupts host threads (Noise::sources())
  int compression_level = 1;       ///< zlib's, 1 to 9
  int compression_threads = 1;     ///< besides the simulating thread; 0: none
};

/// The files appear under their names at finish(); destroyed before, the writer leaves none. Memory is
/// bounded whatever the length: blocks of 1 MiB of text, a few of them in flight. Files per rank share 128
/// MiB of blocks, but have at least 8 KiB each (20 KiB with its window: 330 MB for 16,384 ranks).
class ChromeTraceWriter final : public TimelineSink {
 public:
  /// @param job checked (ops/job.hpp); must outlive the writer
  /// @param vertices Fabric::vertices(); used in the constructor only
  /// @throws InputError when a file cannot be created
  /// @throws std::invalid_argument for ranks that the job does not have
  ChromeTraceWriter(const Job& job, std::span<const Vertex> vertices, ChromeTraceOptions options);
  ~ChromeTraceWriter() override;

  void write(std::span<const TimelineSpan> spans) override;

  /// Completes the files. @param tracks besides those of ranks, for the merged file; a file per rank has none
  /// @throws InputError when the disk did not take them
  void finish(const TimelineTracks& tracks = {});

  /// The files that finish() leaves.
  [[nodiscard]] const std::vector<std::filesystem::path>& paths() const { return paths_; }

  /// JSON events written: slices, and each half of a flow arrow; metadata not counted.
  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// Bytes of JSON written, before compression.
  [[nodiscard]] std::uint64_t text_size() const;

 private:
  /// One rank's lanes, and its step so far.
  struct Lane {
    GzipFile* file = nullptr;  ///< nullptr: not written
    RankLanes ids;
    const ProgramText* text = nullptr;
    std::uint32_t calls = 0;  ///< runtime calls so far that launch nothing
    std::uint32_t step = 0;
    std::int64_t step_start = 0;  ///< ns; a step starts where the one before it ended, as PyTorch's do
    std::int64_t step_end = 0;    ///< end of the main thread's work so far
  };

  void add_texts(NcclNames names);
  void open_files(std::span<const Vertex> vertices);
  void open_file(std::filesystem::path path, std::span<const Vertex> vertices,
                 std::span<const RankLanes> ranks, std::size_t block_size);

  void write_range(const TimelineSpan& span, Lane& lane);
  void write_noise(const TimelineSpan& span, Lane& lane);
  void write_runtime(const TimelineSpan& span, Lane& lane);
  void write_kernel(const TimelineSpan& span, Lane& lane);
  void write_collective(const TimelineSpan& span, Lane& lane);
  void extend_step(const TimelineSpan& span, Lane& lane);
  void write_step(Lane& lane);

  [[nodiscard]] const Instruction& instruction_of(const TimelineSpan& span) const;
  [[nodiscard]] std::uint64_t external_id(const TimelineSpan& span, const Lane& lane) const;
  [[nodiscard]] std::uint64_t flow_id(const TimelineSpan& span) const;
  JsonCursor& end_gpu_slice(JsonCursor& json, const TimelineSpan& span, const Lane& lane);

  const Job& job_;
  ChromeTraceOptions options_;
  std::vector<std::unique_ptr<ProgramText>> texts_;  ///< by program; nullptr for programs no rank runs
  std::vector<std::string> group_members_;           ///< by Job::groups
  std::vector<std::string> noise_;                   ///< by number of the source
  BlockCompressor compressor_;
  std::vector<std::unique_ptr<GzipFile>> files_;
  std::vector<std::filesystem::path> paths_;
  std::vector<Lane> lanes_;  ///< by rank
  std::uint64_t events_ = 0;
};

}  // namespace lockstep
