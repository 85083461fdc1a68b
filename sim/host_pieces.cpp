#include "sim/host_pieces.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kNoName = 0xffffffff;

}  // namespace

std::vector<HostPieces::RangeNames> HostPieces::enclosing_ranges(const Program::Thread& thread) {
  std::vector<RangeNames> names;
  std::vector<std::uint32_t> open;
  const auto innermost = [&] { return open.empty() ? kNoName : open.back(); };
  for (const Instruction& instruction : thread.instructions) {
    const std::uint32_t before = innermost();
    if (instruction.op == Opcode::RangeBegin) {
      open.push_back(instruction.operand);
    }
    names.push_back({innermost(), before});
    if (instruction.op == Opcode::RangeEnd) {
      open.pop_back();
    }
  }
  return names;
}

HostPiece HostPieces::at(const Program& program, std::uint8_t lane, std::uint32_t at) {
  const Program::Thread& thread = program.threads[lane];
  auto& names = ranges_[&thread];
  if (names.empty()) {
    names = enclosing_ranges(thread);
  }
  const Instruction& instruction = thread.instructions[at];
  const bool has_own = instruction.op == Opcode::HostWork;
  if (!has_own && !recorded_steps_.empty()) {
    if (const std::optional<HostPiece> outside = outside_operators(program, instruction, names[at])) {
      return *outside;
    }
  }
  const std::uint32_t name = has_own ? instruction.operand : names[at].within;
  return name < program.names.size() ? HostPiece::of(program.names[name]) : HostPiece{"host"};
}

/// In a recording, time that no operator covers is not the time of the one that comes next. Nothing: an
/// operator does.
std::optional<HostPiece> HostPieces::outside_operators(const Program& program, const Instruction& instruction,
                                                       const RangeNames& around) const {
  const std::uint32_t outer = around.before;
  const bool has_name = outer < program.names.size();
  if (has_name && !program.names[outer].starts_with(recorded_steps_)) {
    return instruction.op == Opcode::RangeBegin ? std::optional{HostPiece::of(program.names[outer])}
                                                : std::nullopt;
  }
  const bool waits = instruction.op == Opcode::WaitEvent || instruction.op == Opcode::WaitStream ||
                     instruction.op == Opcode::WaitDevice;
  if (waits && instruction.cost > instruction.lead) {
    return HostPiece{"host: wait for the GPU, no work recorded"};
  }
  if (instruction.op == Opcode::RangeBegin && instruction.operand < program.names.size()) {
    return HostPiece::silent(" before " + program.names[instruction.operand]);
  }
  return HostPiece::silent(has_name ? " in " + program.names[outer] : "");
}

}  // namespace lockstep
