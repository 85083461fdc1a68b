#pragma once

/// @file
/// What the simulation tells about every span of time, as it happens.

#include <cstdint>
#include <span>

namespace lockstep {

enum class SpanKind : std::uint8_t {
  Range,       ///< host: from a RangeBegin to its RangeEnd; instruction: the RangeBegin
  HostWork,    ///< host: a HostWork instruction
  Noise,       ///< host: an interruption; instruction: the how-manieth NoiseSource
  Runtime,     ///< host: a launch, record, stream wait (cuda_runtime); instruction says which
  HostWait,    ///< host: blocked in WaitEvent, WaitStream, WaitDevice, Await
  Kernel,      ///< GPU: a Launch that ran on its stream (memcpy and memset too)
  Collective,  ///< GPU: a communication kernel, from this rank's arrival to the end
};

/// One span; 48 bytes. Names, shapes and sizes follow from the Job: rank -> program -> threads[thread]
/// .instructions[instruction]. Spans of one lane (rank and thread, or rank and stream) arrive in order of
/// time; spans of different lanes do not, because actors run ahead.
struct TimelineSpan {
  double start = 0;  ///< seconds
  double end = 0;
  double transfer_start = 0;  ///< collectives: when the last member had arrived; else = start
  std::uint32_t rank = 0;
  std::uint32_t instruction = 0;
  std::uint32_t correlation =
      0;  ///< the same number on a launch and on what it launched, unique within a rank; 0: none
  std::uint32_t step = 0;
  SpanKind kind = SpanKind::Range;
  std::uint8_t thread = 0;  ///< the host thread that executed the instruction
  std::uint8_t stream = 0;  ///< GPU spans and launches
  std::uint8_t depth = 0;   ///< ranges: how many are open around this one
};

/// Receives spans in batches, while the simulation runs.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void write(std::span<const TimelineSpan> spans) = 0;
};

}  // namespace lockstep
