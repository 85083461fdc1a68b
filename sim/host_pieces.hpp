#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/program.hpp"
#include "sim/critical_path.hpp"

namespace lockstep {

/// A piece of the critical path on a host thread.
struct HostPiece {
  std::string label;
  PathPart part = PathPart::HostWork;
  std::string operation{};  ///< CriticalShare::operation

  static HostPiece of(const std::string& operation) {
    return {"host: " + operation, PathPart::HostWork, operation};
  }
  static HostPiece silent(const std::string& where) {
    return {"host: nothing recorded" + where, PathPart::Silence};
  }
};

/// Tells what a host thread did when it was at an instruction, by the ranges around it.
class HostPieces {
 public:
  /// @param recorded_steps as SimulationOptions has it
  explicit HostPieces(std::string_view recorded_steps) : recorded_steps_{recorded_steps} {}

  [[nodiscard]] HostPiece at(const Program& program, std::uint8_t lane, std::uint32_t instruction);

 private:
  /// The name of the innermost range around an instruction, and around what opens a range.
  struct RangeNames {
    std::uint32_t within, before;
  };

  static std::vector<RangeNames> enclosing_ranges(const Program::Thread& thread);
  [[nodiscard]] std::optional<HostPiece> outside_operators(const Program& program,
                                                           const Instruction& instruction,
                                                           const RangeNames& around) const;

  std::string_view recorded_steps_;
  std::map<const Program::Thread*, std::vector<RangeNames>> ranges_;
};

}  // namespace lockstep
