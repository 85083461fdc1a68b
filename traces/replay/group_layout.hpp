#pragma once

/// @file
/// Process groups as traces state them, and where ranks of a job whose traces are not there are in such
/// groups.

#include <cstdint>
#include <string>
#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::replay {

struct StatedGroup {
  std::int64_t size = -1;            ///< < 0: not said
  std::vector<std::uint32_t> ranks;  ///< by the recorded job's numbers; may be cut or empty
};

/// The group by a communication kernel's arguments, or else by the list of groups (`pg_config`).
[[nodiscard]] StatedGroup stated_group(const kineto::RecordedTrace& trace, const kineto::Communication& said);

struct GroupLayout {
  std::vector<std::vector<std::uint32_t>>
      groups;                   ///< each rank in one of them; empty: their size does not divide
  bool keeps_distance = false;  ///< as recorded; else neighbouring ranks are together
};

/// Groups of @p size ranks of a job of @p ranks. Where the recorded members are equally far apart, d, so are
/// these: the ranks of a group of n are k*d*n + i, + i + d, + i + 2*d, ..., as Megatron-LM and PyTorch's
/// device meshes number them. Else (or where d*n does not divide the ranks) neighbours are together.
[[nodiscard]] GroupLayout lay_out(const StatedGroup& stated, std::uint32_t ranks);

}  // namespace lockstep::replay
