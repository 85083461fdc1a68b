#include "ops/memory_ledger.hpp"

#include "ops/program_builder.hpp"

namespace lockstep {

ProgramPosition MemoryLedger::position() const {
  return program_ == nullptr
             ? at_
             : ProgramPosition{static_cast<std::uint32_t>(program_->position()), program_->current_thread()};
}

void MemoryLedger::repeat(std::size_t first, std::size_t last, std::size_t later) {
  for (std::size_t i = first; i < last; ++i) {
    MemoryChange again = changes_[i];
    again.at.instruction += static_cast<std::uint32_t>(later);
    change(again);
  }
}

}  // namespace lockstep
