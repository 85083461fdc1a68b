#include "traces/replay/straggler_cure.hpp"

#include <map>
#include <string>
#include <utility>

#include "traces/replay/open_ranges.hpp"
#include "traces/replay/work_edits.hpp"

namespace lockstep::replay {
namespace {

/// Of one stage.
class KernelCure {
 public:
  KernelCure(std::vector<Program>& programs, const std::vector<std::size_t>& stage, const WhatIfSpec& edit,
             const StragglerPeers& peers)
      : programs_{programs}, stage_{stage}, edit_{edit}, peers_{peers} {}

  void run() {
    for (const std::size_t rank : stage_) {
      visit(programs_[rank], [&](const Key& key, const KernelCall& kernel, Instruction& /*launch*/) {
        times_[key].push_back(std::get<Timed>(kernel.work).duration.in_base_units());
      });
    }
    for (const std::size_t rank : stage_) {
      if (peers_.is_cured(rank)) {
        cure(programs_[rank]);
      }
    }
  }

 private:
  struct Key {
    std::string name;
    std::string stream;
    std::uint32_t occurrence;
    auto operator<=>(const Key&) const = default;
  };

  void cure(Program& program) const {
    std::map<std::pair<std::string, double>, std::uint32_t> made;
    std::vector<KernelCall> kernels;
    const auto first = static_cast<std::uint32_t>(program.kernels.size());
    visit(program, [&](const Key& key, const KernelCall& kernel, Instruction& launch) {
      const std::vector<double>& times = times_.at(key);
      if (times.size() < stage_.size()) {
        return;  // what some ranks do not do is left as it is
      }
      const double seconds = peers_.typical(times);
      const auto [entry, fresh] =
          made.try_emplace({kernel.name, seconds}, first + static_cast<std::uint32_t>(kernels.size()));
      if (fresh) {
        kernels.push_back({kernel.name, kernel.type, Timed{Seconds{seconds}}});
      }
      launch.operand = entry->second;
    });
    program.kernels.insert(program.kernels.end(), kernels.begin(), kernels.end());
  }

  template <class Visit>
  void visit(Program& program, Visit see) const {
    std::map<std::pair<std::string, std::uint8_t>, std::uint32_t> seen;
    for (Program::Thread& thread : program.threads) {
      const std::vector<bool> within = within_ranges(program, thread, [&](const std::string& name) {
        return has_name(name, edit_.straggler_operators);
      });
      for (std::size_t i = 0; i < thread.instructions.size(); ++i) {
        Instruction& instruction = thread.instructions[i];
        if (instruction.op != Opcode::Launch || !(within[i] || edit_.straggler_operators == "*")) {
          continue;
        }
        const KernelCall& kernel = program.kernels[instruction.operand];
        if (std::holds_alternative<Timed>(kernel.work) && is_meant(kernel.name)) {
          const std::uint32_t occurrence = seen[{kernel.name, instruction.stream}]++;
          see(Key{kernel.name, program.streams[instruction.stream], occurrence}, kernel, instruction);
        }
      }
    }
  }

  [[nodiscard]] bool is_meant(const std::string& kernel) const {
    return edit_.straggler_kernels == "*" || has_name(kernel, edit_.straggler_kernels);
  }

  std::vector<Program>& programs_;
  const std::vector<std::size_t>& stage_;
  const WhatIfSpec& edit_;
  const StragglerPeers& peers_;
  std::map<Key, std::vector<double>> times_;
};

}  // namespace

void cure_kernels(std::vector<Program>& programs, const WhatIfSpec& edit, const StragglerPeers& peers) {
  for (const std::vector<std::size_t>& stage : peers.stages()) {
    KernelCure{programs, stage, edit, peers}.run();
  }
}

}  // namespace lockstep::replay
