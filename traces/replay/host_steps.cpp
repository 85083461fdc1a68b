#include "traces/replay/host_steps.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::replay {
namespace {

constexpr int kThread = -1;
constexpr std::uint32_t kNothingAround = ~0U;

/// Ids of threads differ between ranks; what they do does not. Empty: no ranges.
std::string usual_range(const Program& program, const Program::Thread& thread) {
  std::map<std::string, int> opened;
  for (const Instruction& instruction : thread.instructions) {
    if (instruction.op == Opcode::RangeBegin) {
      ++opened[program.names[instruction.operand]];
    }
  }
  const auto most = std::ranges::max_element(opened, {}, [](const auto& entry) { return entry.second; });
  return most == opened.end() ? "" : most->first;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> HostSteps::number(const Program& program) {
  std::vector<std::vector<std::uint32_t>> numbers;
  std::map<std::string, std::uint32_t> seen;
  for (const Program::Thread& thread : program.threads) {
    const std::string usual = numbers.empty() ? thread.name : usual_range(program, thread);
    const std::uint32_t root = step({kNothingAround, kThread, name(usual), seen[usual]++});
    numbers.push_back(number(program, thread, root));
  }
  return numbers;
}

std::vector<std::uint32_t> HostSteps::number(const Program& program, const Program::Thread& thread,
                                             std::uint32_t root) {
  struct Open {
    std::uint32_t step = 0;
    std::map<std::pair<int, std::uint32_t>, std::uint32_t> seen;  // by kind and name
  };
  std::vector<Open> open{{root, {}}};
  std::vector<std::uint32_t> numbers;
  for (const Instruction& instruction : thread.instructions) {
    const bool opens = instruction.op == Opcode::RangeBegin;
    const int kind = static_cast<int>(instruction.op);
    const std::uint32_t label = opens ? name(program.names[instruction.operand]) : 0;
    Open& around = open.back();
    numbers.push_back(step({around.step, kind, label, around.seen[{kind, label}]++}));
    if (opens) {
      open.push_back({numbers.back(), {}});
    } else if (instruction.op == Opcode::RangeEnd && open.size() > 1) {
      open.pop_back();
    }
  }
  return numbers;
}

std::uint32_t HostSteps::step(const Step& step) {
  return steps_.try_emplace(step, static_cast<std::uint32_t>(steps_.size())).first->second;
}

std::uint32_t HostSteps::name(const std::string& text) {
  return names_.try_emplace(text, static_cast<std::uint32_t>(names_.size())).first->second;
}

}  // namespace lockstep::replay
