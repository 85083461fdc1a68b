#include "traces/replay/shaped_operator.hpp"

namespace lockstep::replay {

std::uint32_t operator_with_shapes(const RankRecording& rank, std::uint32_t call) {
  std::uint32_t op = call == kNone ? kNone : rank.links.operator_of_call[call];
  while (op != kNone && rank.trace.operators[op].input_dims == 0) {
    op = rank.links.parent[op];
  }
  return op;
}

}  // namespace lockstep::replay
