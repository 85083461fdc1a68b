#include "traces/replay/host_straggler_cure.hpp"

#include <utility>

#include "traces/replay/host_steps.hpp"
#include "traces/replay/open_ranges.hpp"
#include "traces/replay/work_edits.hpp"

namespace lockstep::replay {
namespace {

/// Replaces the host's times in one stage.
class HostCure {
 public:
  HostCure(std::vector<Program>& programs, const std::vector<std::size_t>& stage, const WhatIfSpec& edit,
           const StragglerPeers& peers)
      : programs_{programs}, stage_{stage}, edit_{edit}, peers_{peers} {}

  void run() {
    for (const std::size_t rank : stage_) {
      numbers_.push_back(steps_.number(programs_[rank]));
    }
    times_.resize(steps_.count());
    for (std::size_t member = 0; member < stage_.size(); ++member) {
      visit(member, [](Instruction& instruction, Times& times) {
        times.before.push_back(instruction.lead);
        times.own.push_back(instruction.cost);
      });
    }
    for (std::size_t member = 0; member < stage_.size(); ++member) {
      if (peers_.is_cured(stage_[member])) {
        visit(member, [this](Instruction& instruction, Times& times) {
          if (times.own.size() == stage_.size()) {  // what some ranks do not do is left as it is
            instruction.lead = static_cast<float>(peers_.typical(times.before));
            instruction.cost = static_cast<float>(peers_.typical(times.own));
          }
        });
      }
    }
  }

 private:
  /// Times of one instruction of a step, by rank; s.
  struct Times {
    std::vector<double> before, own;
  };

  template <class Visit>
  void visit(std::size_t member, Visit see) {
    Program& program = programs_[stage_[member]];
    for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
      auto& code = program.threads[thread].instructions;
      const std::vector<bool> within =
          within_ranges(program, program.threads[thread],
                        [&](const std::string& name) { return has_name(name, edit_.straggler_operators); });
      for (std::size_t i = 0; i < code.size(); ++i) {
        const bool is_of_host = code[i].op != Opcode::StartLag;
        if (is_of_host && (within[i] || edit_.straggler_operators == "*")) {
          see(code[i], times_[numbers_[member][thread][i]]);
        }
      }
    }
  }

  std::vector<Program>& programs_;
  const std::vector<std::size_t>& stage_;
  const WhatIfSpec& edit_;
  const StragglerPeers& peers_;
  HostSteps steps_;
  std::vector<std::vector<std::vector<std::uint32_t>>> numbers_;  // by member, thread and instruction
  std::vector<Times> times_;                                      // by step
};

}  // namespace

void cure_host(std::vector<Program>& programs, const WhatIfSpec& edit, const StragglerPeers& peers) {
  for (const std::vector<std::size_t>& stage : peers.stages()) {
    HostCure{programs, stage, edit, peers}.run();
  }
}

}  // namespace lockstep::replay
