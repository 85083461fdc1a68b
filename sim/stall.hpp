#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

class Executor;

/// A simulated program that cannot go on: mismatched collectives, or a circle of waits. Exit code 3.
class StallError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Who waits for whom, from the first actor that is stuck until the chain ends or closes.
[[nodiscard]] std::string explain_stall(Executor& executor);

}  // namespace lockstep
