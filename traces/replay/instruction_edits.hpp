#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::replay {

/// Takes the place of an instruction that is gone: host work for what came before it.
[[nodiscard]] Instruction nothing(Program& program, float lead = 0);

/// Changes to the instructions of a thread, all told by their places before any of them.
class InstructionEdits {
 public:
  /// Its lead, host time before it, stays.
  void remove(std::size_t place) { removed_.insert(place); }
  /// Behind what was inserted there before.
  void insert_behind(std::size_t place, const Instruction& instruction) {
    inserted_[place].push_back(instruction);
  }

  /// @param subjects by instruction; what is inserted stands for nothing (kNone)
  void apply(Program& program, std::size_t thread, std::vector<std::uint32_t>& subjects) const;

 private:
  std::set<std::size_t> removed_;
  std::map<std::size_t, std::vector<Instruction>> inserted_;
};

}  // namespace lockstep::replay
