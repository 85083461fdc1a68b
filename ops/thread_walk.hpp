#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ops/program.hpp"

namespace lockstep {

/// Visits a Program's instructions in an order in which they can happen: threads one at a time, in the order
/// of their numbers, until they await what has not been posted.
/// @tparam Posted what a post hands to those that await it
template <class Posted>
class ThreadWalk {
 public:
  explicit ThreadWalk(const Program& program)
      : program_{program},
        next_(program.threads.size(), 0),
        awaited_(program.threads.size()),
        posts_(program.flags) {}

  /// @param visit (number of the thread, number of the instruction on it, instruction)
  template <class Visit>
  void run(const Visit& visit) {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t thread = 0; thread < next_.size(); ++thread) {
        goes_on = run_thread(thread, visit) || goes_on;
      }
    }
  }

  /// Hands over a value at a Post that is visited.
  void post(std::uint32_t flag, Posted posted) { posts_[flag].push_back(std::move(posted)); }

  /// The value that the Post of a visited Await has handed over; once for each Await.
  [[nodiscard]] const Posted& await(std::size_t thread, std::uint32_t flag) {
    return posts_[flag][awaited_[thread][flag]++];
  }

 private:
  /// @return whether the thread went on
  template <class Visit>
  bool run_thread(std::size_t thread, const Visit& visit) {
    const auto& code = program_.threads[thread].instructions;
    const std::size_t first = next_[thread];
    for (std::size_t& next = next_[thread]; next < code.size(); ++next) {
      const Instruction& instruction = code[next];
      if (instruction.op == Opcode::Await &&
          posts_[instruction.operand].size() <= awaited_[thread][instruction.operand]) {
        break;
      }
      visit(thread, next, instruction);
    }
    return next_[thread] > first;
  }

  const Program& program_;
  std::vector<std::size_t> next_;                              // by thread: instruction
  std::vector<std::map<std::uint32_t, std::size_t>> awaited_;  // by thread and flag: how often
  std::vector<std::vector<Posted>> posts_;                     // by flag, in order
};

}  // namespace lockstep
