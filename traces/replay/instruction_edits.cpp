#include "traces/replay/instruction_edits.hpp"

#include <algorithm>

#include "traces/replay/trace_links.hpp"

namespace lockstep::replay {
namespace {

constexpr const char* kRemoved = "removed";

std::uint32_t name_of_removed(Program& program) {
  const auto known = std::ranges::find(program.names, kRemoved);
  if (known == program.names.end()) {
    program.names.emplace_back(kRemoved);
    return static_cast<std::uint32_t>(program.names.size() - 1);
  }
  return static_cast<std::uint32_t>(known - program.names.begin());
}

}  // namespace

Instruction nothing(Program& program, float lead) {
  return {.op = Opcode::HostWork, .operand = name_of_removed(program), .lead = lead};
}

void InstructionEdits::apply(Program& program, std::size_t thread,
                             std::vector<std::uint32_t>& subjects) const {
  std::vector<Instruction> made;
  std::vector<std::uint32_t> of_made;
  const auto& code = program.threads[thread].instructions;
  for (std::size_t place = 0; place < code.size(); ++place) {
    Instruction instruction = code[place];
    if (removed_.contains(place)) {
      const bool is_lag = instruction.op == Opcode::StartLag;  // of the GPU: no time of the host
      instruction = nothing(program, is_lag ? 0 : instruction.lead);
    }
    made.push_back(instruction);
    of_made.push_back(removed_.contains(place) ? kNone : subjects[place]);
    if (const auto more = inserted_.find(place); more != inserted_.end()) {
      made.insert(made.end(), more->second.begin(), more->second.end());
      of_made.insert(of_made.end(), more->second.size(), kNone);
    }
  }
  program.threads[thread].instructions = std::move(made);
  subjects = std::move(of_made);
}

}  // namespace lockstep::replay
