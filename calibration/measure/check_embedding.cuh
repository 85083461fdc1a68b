#pragma once

#include "calibration/measure/host_copy.cuh"

namespace lockstep {

/// Lookups and updates of small tables, with rows that occur once and rows that occur often.
void check_embeddings(const Gpu& gpu, HostComparison& comparison);

}  // namespace lockstep
