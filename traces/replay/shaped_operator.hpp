#pragma once

#include <cstdint>

#include "traces/replay/rank_recording.hpp"

namespace lockstep::replay {

/// The innermost operator around a call that says shapes; kNone: there is none.
[[nodiscard]] std::uint32_t operator_with_shapes(const RankRecording& rank, std::uint32_t call);

}  // namespace lockstep::replay
