#include "synth/recorded_nodes.hpp"

#include <utility>

#include "sim/compiled_program.hpp"
#include "synth/class_names.hpp"
#include "synth/tokens.hpp"

namespace lockstep::synth {

std::vector<double> kernel_seconds(const Recording& recording, std::uint32_t program) {
  if (!recording.seconds.empty()) return recording.seconds[program];
  std::vector<double> seconds;
  for (const KernelTiming& timing : time_kernels(*recording.job.programs[program], recording.gpu)) {
    seconds.push_back(timing.seconds);
  }
  return seconds;
}

std::vector<RecordedNode> recorded_nodes(const Recording& recording) {
  const RankAssignment& rank = recording.job.ranks.front();
  const Program& program = *recording.job.programs[rank.program];
  const std::vector<double> seconds = kernel_seconds(recording, rank.program);
  std::vector<RecordedNode> nodes;
  for (const Token& token : tokens_of(program)) {
    RecordedNode node;
    node.lead = token.lead;
    node.cost = token.cost;
    if (token.op == Opcode::Launch) {
      const std::uint32_t kernel = token.per_rank ? rank.kernel_slots[token.operand] : token.operand;
      node.name = class_of(program.kernels[kernel]);
      node.seconds = seconds[kernel];
    } else if (token.op == Opcode::Collective) {
      node.call = program.collectives[token.per_rank ? rank.collective_slots[token.operand] : token.operand];
      node.name = to_string(node.call.kind);
      node.is_collective = true;
    } else {
      continue;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace lockstep::synth
