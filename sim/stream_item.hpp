#pragma once

#include <cstdint>

namespace lockstep {

/// An item that a host thread has put on a stream. `where` says which instruction did; `ticket` is the
/// correlation number of a launch, the slot of an event, or the number of the step that ends here; `value`
/// the seconds of a compute kernel with nothing beside it, or which collective this is.
struct StreamItem {
  double issue = 0;  ///< when the call returned on the host, s
  std::uint32_t where = 0;
  std::uint32_t ticket = 0;
  double value = kNone;

  static constexpr double kNone = -1;
  /// The value of the how-manieth collective of a communicator.
  [[nodiscard]] static double of_collective(std::uint32_t number) { return -2.0 - number; }
  [[nodiscard]] std::uint32_t collective() const { return static_cast<std::uint32_t>(-2.0 - value); }
  [[nodiscard]] bool computes() const { return value >= 0; }

  static constexpr std::uint32_t kStepEnd = 0xffffffff;
  static constexpr unsigned kThreadShift = 28;  ///< upper bits of `where`: thread; lower: instruction
  [[nodiscard]] std::uint8_t thread() const { return static_cast<std::uint8_t>(where >> kThreadShift); }
  [[nodiscard]] std::uint32_t instruction() const { return where & ((1U << kThreadShift) - 1); }
};

}  // namespace lockstep
