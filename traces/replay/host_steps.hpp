#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::replay {

/// Numbers for the steps of host threads, the same for the same step of several ranks. A step is an
/// instruction: the k-th of its kind (of a range: of its name) within the range around it, which is such a
/// step itself, on the k-th thread that opens mostly ranges of one name.
class HostSteps {
 public:
  /// @return by thread and instruction
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> number(const Program& program);
  /// One more than the largest number so far.
  [[nodiscard]] std::size_t count() const { return steps_.size(); }

 private:
  /// The step around it, its kind (an opcode, or kThread), its name, which of these it is.
  using Step = std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>;

  std::uint32_t step(const Step& step);
  std::uint32_t name(const std::string& text);
  [[nodiscard]] std::vector<std::uint32_t> number(const Program& program, const Program::Thread& thread,
                                                  std::uint32_t root);

  std::map<Step, std::uint32_t> steps_;
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace lockstep::replay
