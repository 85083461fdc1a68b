#pragma once

#include <cstdint>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Places of a trace's events in the file, by event of RecordedTrace's lists, before these are sorted.
struct FilePlaces {
  std::vector<std::uint64_t> operators, calls, work;
};

/// Takes events whose time was lost (TimeWindow) out of the lists. They are in the report and in
/// RecordedTrace::lost.
void take_out_lost(RecordedTrace& trace, const FilePlaces& places);

}  // namespace lockstep::kineto
