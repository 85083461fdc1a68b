#include "traces/replay/straggler_replacement.hpp"

#include <map>
#include <string>
#include <utility>

#include "traces/replay/open_ranges.hpp"
#include "traces/replay/work_edits.hpp"

namespace lockstep::replay {
namespace {

/// Replaces the kernels' times in one stage.
class KernelCure {
 public:
  KernelCure(std::vector<Program>& programs, const std::vector<KernelOrigins>& origins,
             const std::vector<std::size_t>& stage, const WhatIfSpec& edit, const StragglerPeers& peers)
      : programs_{programs}, origins_{origins}, stage_{stage}, edit_{edit}, peers_{peers} {}

  void run() {
    for (const std::size_t rank : stage_) {
      visit(rank, [&](const Key& key, const KernelCall& kernel, Instruction& /*launch*/) {
        times_[key].push_back(std::get<Timed>(kernel.work).duration.in_base_units());
      });
    }
    for (const std::size_t rank : stage_) {
      if (peers_.is_cured(rank)) {
        cure(rank);
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

  void cure(std::size_t rank) const {
    Program& program = programs_[rank];
    std::map<std::pair<std::string, double>, std::uint32_t> made;
    std::vector<KernelCall> kernels;
    const auto first = static_cast<std::uint32_t>(program.kernels.size());
    visit(rank, [&](const Key& key, const KernelCall& kernel, Instruction& launch) {
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
  void visit(std::size_t rank, Visit see) const {
    Program& program = programs_[rank];
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
        if (std::holds_alternative<Timed>(kernel.work) &&
            is_cured(kernel, origins_[rank][instruction.operand])) {
          const std::uint32_t occurrence = seen[{kernel.name, instruction.stream}]++;
          see(Key{kernel.name, program.streams[instruction.stream], occurrence}, kernel, instruction);
        }
      }
    }
  }

  [[nodiscard]] bool is_cured(const KernelCall& kernel, const WorkOrigin& origin) const {
    return edit_.straggler_kernels == "*" || is_named(kernel.name, origin, edit_.straggler_kernels);
  }

  std::vector<Program>& programs_;
  const std::vector<KernelOrigins>& origins_;
  const std::vector<std::size_t>& stage_;
  const WhatIfSpec& edit_;
  const StragglerPeers& peers_;
  std::map<Key, std::vector<double>> times_;
};

}  // namespace

void replace_straggler_times(std::vector<Program>& programs, const std::vector<KernelOrigins>& origins,
                             const WhatIfSpec& edit, const StragglerPeers& peers) {
  for (const std::vector<std::size_t>& stage : peers.stages()) {
    KernelCure{programs, origins, stage, edit, peers}.run();
  }
}

}  // namespace lockstep::replay
