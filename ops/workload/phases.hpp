#pragma once

#include <array>
#include <cstdint>

#include "base/parameters.hpp"

namespace lockstep {

/// Parts of a training loop's step that are run.
enum class Phases : std::uint8_t {
  Step,             ///< forward, loss, backward, optimizer
  ForwardBackward,  ///< no optimizer and no zero_grad: backward adds to the gradients that are there
  Forward,          ///< model.eval() under no_grad: neither dropout nor loss, nothing kept for backward
};

constexpr auto names_of(Phases) {
  return std::to_array<EnumName<Phases>>(
      {{Phases::Step, "step"}, {Phases::ForwardBackward, "forward_backward"}, {Phases::Forward, "forward"}});
}

}  // namespace lockstep
