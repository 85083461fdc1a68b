#pragma once

/// @file
/// Who launched what, and which stream it ran on: what a trace says once its numbers are joined.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::replay {

using kineto::Nanoseconds;

/// Instead of an index where there is nothing.
inline constexpr std::uint32_t kNone = ~0U;

/// A stream of a GPU.
struct Lane {
  std::int32_t device = 0, stream = 0;
  std::uint32_t first = 0, last = 0;  ///< its work: from RecordedTrace::work[first] to before [last]
};

struct TraceLinks {
  std::vector<Lane> lanes;
  std::vector<std::uint32_t> lane_of_work;
  std::vector<std::uint32_t> call_of_work;        ///< kNone: launched before the window, or unseen
  std::vector<std::vector<std::uint32_t>> works;  ///< by call, in the order of their starts
  std::vector<Nanoseconds> issued;              ///< by work: when its launch began, not falling along a lane
  std::vector<std::uint32_t> operator_of_call;  ///< innermost that was open when it began; kNone: none
  std::vector<bool> is_worker;  ///< by thread: launches, waits or runs operators; NCCL's watchdog does not
  std::vector<std::uint32_t> parent;  ///< by operator: the one around it; kNone: none
};

/// @return also in the report: orphans, launches of nothing, kernels that begin before their launch
[[nodiscard]] TraceLinks link(kineto::RecordedTrace& trace);

/// The latest work on @p lane whose launch began before @p moment; kNone: none.
[[nodiscard]] std::uint32_t latest_issued(const TraceLinks& links, std::uint32_t lane, Nanoseconds moment);

/// The name of the innermost operator around a call; empty: none.
[[nodiscard]] const std::string& operator_name(const kineto::RecordedTrace& trace, const TraceLinks& links,
                                               std::uint32_t call);

}  // namespace lockstep::replay
