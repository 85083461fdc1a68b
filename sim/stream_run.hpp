#pragma once

/// @file
/// What happens to every kernel on a Stream, apart from the rest so that the loops of Stream and HostThread
/// contain it.

#include <algorithm>
#include <bit>

#include "sim/rank.hpp"

namespace lockstep {

/// When a launch starts: not before its call has reached the GPU, nor before the work ahead of it has ended.
inline double Stream::start_of(const RankTiming& timing, const StreamItem& item) const {
  const double issued = item.issue + timing.launch_to_start;
  const double free = launches_ == 0 ? clock_ : clock_ + timing.kernel_gap;
  return std::max(free, issued);
}

inline double Stream::duration(const Rank& rank, const StreamItem& item, const KernelTiming& timing) const {
  return timing.seconds * (rank.timing().gpu_factor * rank.kernel_factors(step_)(item.where));
}

/// Order-dependent within the stream, so that a swap or a shift of any kernel changes it.
inline void Stream::stamp(double start, double end) {
  fingerprint_ = (fingerprint_ ^ std::bit_cast<std::uint64_t>(start)) * 0x9e3779b97f4a7c15ULL +
                 std::bit_cast<std::uint64_t>(end);
}

inline void Stream::begin(Rank& rank, std::uint8_t self, const StreamItem& item) {
  const double start = start_of(rank.timing(), item);
  if (rank.is_observed()) {
    log_start(rank, self, item, start);
  }
  start_ = start;
  ++launches_;
  if (starts_.size() == starts_.capacity()) {
    forget_started(host_clock_);  // now and then, and before the ring grows
  }
  starts_.push(start);
}

inline void Stream::end_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end) {
  totals_.compute += end - start_;
  stamp(start_, end);
  if (rank.is_observed()) {
    note_compute(rank, self, item, end);
  }
  clock_ = end;
}

inline void Stream::run(Rank& rank, std::uint8_t self, const StreamItem& item, const KernelTiming& timing) {
  begin(rank, self, item);
  end_compute(rank, self, item, start_ + duration(rank, item, timing));
}

}  // namespace lockstep
