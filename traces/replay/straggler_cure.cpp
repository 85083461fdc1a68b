#include "traces/replay/straggler_cure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "traces/replay/work_edits.hpp"

namespace lockstep::replay {
namespace {

/// The k-th kernel of a name on a stream is the same operation on all ranks.
class StragglerCure {
 public:
  StragglerCure(std::vector<Program>& programs, const WhatIfSpec& edit) : programs_{programs}, edit_{edit} {}

  void run() {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      visit(programs_[i], [&](const Key& key, const KernelCall& kernel, Instruction& /*launch*/) {
        times_[key].push_back(std::get<Timed>(kernel.work).duration.in_base_units());
      });
    }
    for (auto& [key, times] : times_) {
      std::ranges::sort(times);
    }
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      if (!edit_.straggler_ranks.empty() &&
          std::ranges::find(edit_.straggler_ranks, static_cast<int>(rank)) == edit_.straggler_ranks.end()) {
        continue;
      }
      Program& program = programs_[rank];
      std::map<std::pair<std::string, double>, std::uint32_t> made;
      std::vector<KernelCall> kernels;
      visit(program, [&](const Key& key, const KernelCall& kernel, Instruction& launch) {
        const double seconds = cured(key, std::get<Timed>(kernel.work).duration.in_base_units());
        const auto first = static_cast<std::uint32_t>(program.kernels.size());
        const auto [entry, fresh] =
            made.try_emplace({kernel.name, seconds}, first + static_cast<std::uint32_t>(kernels.size()));
        if (fresh) {
          kernels.push_back({kernel.name, kernel.type, Timed{Seconds{seconds}}});
        }
        launch.operand = entry->second;
      });
      program.kernels.insert(program.kernels.end(), kernels.begin(), kernels.end());
    }
  }

 private:
  struct Key {
    std::string name;
    std::string stream;
    std::uint32_t occurrence;
    auto operator<=>(const Key&) const = default;
  };

  /// What some ranks do not do is left as it is.
  [[nodiscard]] double cured(const Key& key, double own) const {
    const std::vector<double>& times = times_.at(key);
    if (times.size() < programs_.size()) {
      return own;
    }
    return edit_.stragglers == StragglerEdit::Median ? times[times.size() / 2] : times.front();
  }

  template <class Visit>
  void visit(Program& program, Visit see) const {
    std::map<std::pair<std::string, std::uint8_t>, std::uint32_t> seen;
    for (Program::Thread& thread : program.threads) {
      for (Instruction& instruction : thread.instructions) {
        if (instruction.op != Opcode::Launch) {
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
  const WhatIfSpec& edit_;
  std::map<Key, std::vector<double>> times_;
};

}  // namespace

void cure_stragglers(std::vector<Program>& programs, const WhatIfSpec& edit) {
  for (const int rank : edit.straggler_ranks) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= programs.size()) {
      throw std::invalid_argument{
          fmt::format("what_if.straggler_ranks: there is no rank {}: traces of {} ranks were given", rank,
                      programs.size())};
    }
  }
  StragglerCure{programs, edit}.run();
}

}  // namespace lockstep::replay
