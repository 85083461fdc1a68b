#pragma once

/// @file
/// What a Program launches, operator by operator, for comparison with what a profiler listed.

#include <string>
#include <vector>

#include "ops/job.hpp"

namespace lockstep {

/// A top-level operator and the kernels it launches, by name, in order.
struct ListedOperator {
  std::string name;
  std::vector<std::string> kernels;
};

inline HostOverheads plain_host() {
  HostOverheads host;
  host.runtime_calls = {{RuntimeCall::LaunchKernel, Seconds{4e-6}}};
  return host;
}

/// Operators of @p rank that launch something on the compute stream, in host order: main thread up to the
/// start of backward, the autograd thread, the rest of the main thread.
inline std::vector<ListedOperator> operators_of(const Job& job, std::size_t rank = 0) {
  const RankAssignment& assignment = job.ranks.at(rank);
  const Program& program = *job.programs.at(assignment.program);
  std::vector<ListedOperator> listed;
  const auto kernel_of = [&](const Instruction& i) -> const KernelCall& {
    return program.kernels.at(i.per_rank ? assignment.kernel_slots.at(i.operand) : i.operand);
  };
  std::vector<std::string> open;
  const auto list = [&](const std::vector<Instruction>& instructions, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const Instruction& instruction = instructions[i];
      if (instruction.op == Opcode::RangeBegin) {
        open.push_back(program.names.at(instruction.operand));
      } else if (instruction.op == Opcode::RangeEnd) {
        open.pop_back();
      } else if (instruction.op == Opcode::Launch) {
        const bool same = i > 0 && !listed.empty() && instructions[i - 1].op != Opcode::RangeBegin;
        if (!same) {
          listed.push_back({open.back(), {}});
        }
        listed.back().kernels.push_back(kernel_of(instruction).name);
      }
    }
  };
  const auto& main = program.threads.at(0).instructions;
  std::size_t from = 0;
  std::size_t autograd = 0;
  for (std::size_t i = 0; i < main.size(); ++i) {
    if (main[i].op == Opcode::Post) {
      list(main, from, i);
      from = i;
      const auto& backward = program.threads.at(1).instructions;
      std::size_t end = autograd;
      while (end < backward.size() && backward[end].op != Opcode::Post) {
        ++end;
      }
      const std::vector<std::string> outer = open;
      list(backward, autograd, end);
      open = outer;
      autograd = end + 1;
    }
  }
  list(main, from, main.size());
  return listed;
}

}  // namespace lockstep
