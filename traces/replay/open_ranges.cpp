#include "traces/replay/open_ranges.hpp"

namespace lockstep::replay {

std::vector<bool> within_ranges(const Program& program, const Program::Thread& thread,
                                const std::function<bool(const std::string&)>& is_meant) {
  std::vector<bool> meant;  // by name
  for (const std::string& name : program.names) {
    meant.push_back(is_meant(name));
  }
  std::vector<bool> within;
  int depth = 0;
  int opened = 0;  // the depth at which the outermost meant range was opened; 0: none is open
  for (const Instruction& instruction : thread.instructions) {
    within.push_back(opened > 0);
    if (instruction.op == Opcode::RangeBegin) {
      ++depth;
      opened = opened == 0 && meant[instruction.operand] ? depth : opened;
    } else if (instruction.op == Opcode::RangeEnd) {
      opened = opened == depth ? 0 : opened;
      --depth;
    }
  }
  return within;
}

}  // namespace lockstep::replay
