#pragma once

/// @file
/// What a Program launches, operator by operator, for comparison with what a profiler listed.

#include <string>
#include <vector>

#include "ops/job.hpp"

namespace lockstep {

/// An operator and the kernels it launches itself, by name, in order; collectives by their kind.
struct ListedOperator {
  std::string name;
  std::vector<std::string> kernels;
};

inline HostOverheads plain_host() {
  HostOverheads host;
  host.runtime_calls = {{RuntimeCall::LaunchKernel, Seconds{4e-6}}};
  return host;
}

/// Operators of @p rank that launch something, in host order: main thread up to the
/// start of backward, the autograd thread, the rest of the main thread.
inline std::vector<ListedOperator> operators_of(const Job& job, std::size_t rank = 0) {
  const RankAssignment& assignment = job.ranks.at(rank);
  const Program& program = *job.programs.at(assignment.program);
  std::vector<ListedOperator> listed;
  const auto name_of_launch = [&](const Instruction& i) {
    if (i.op == Opcode::Launch) {
      return program.kernels.at(i.per_rank ? assignment.kernel_slots.at(i.operand) : i.operand).name;
    }
    return to_string(
        program.collectives.at(i.per_rank ? assignment.collective_slots.at(i.operand) : i.operand).kind);
  };
  std::vector<std::string> open;
  bool continues = false;  // the last launch belongs to the operator that is open now
  const auto list = [&](const std::vector<Instruction>& instructions, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const Instruction& instruction = instructions[i];
      if (instruction.op == Opcode::RangeBegin) {
        open.push_back(program.names.at(instruction.operand));
        continues = false;
      } else if (instruction.op == Opcode::RangeEnd) {
        open.pop_back();
        continues = false;
      } else if (instruction.op == Opcode::Launch || instruction.op == Opcode::Collective) {
        if (!continues) {
          listed.push_back({open.back(), {}});
        }
        continues = true;
        listed.back().kernels.push_back(name_of_launch(instruction));
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
