#pragma once

#include <cstdint>

namespace lockstep {

/// An item that a host thread has put on a stream. `where` says which instruction did; `ticket` is the
/// correlation number of a launch, the slot of an event, or the number of the step that ends here.
struct StreamItem {
  double issue = 0;  ///< when the call returned on the host, s
  std::uint32_t where = 0;
  std::uint32_t ticket = 0;
  std::uint32_t collective = 0;  ///< the how-manieth of its communicator

  static constexpr std::uint32_t kStepEnd = 0xffffffff;
  static constexpr unsigned kThreadShift = 28;  ///< upper bits of `where`: thread; lower: instruction
  [[nodiscard]] std::uint8_t thread() const { return static_cast<std::uint8_t>(where >> kThreadShift); }
  [[nodiscard]] std::uint32_t instruction() const { return where & ((1U << kThreadShift) - 1); }
};

}  // namespace lockstep
