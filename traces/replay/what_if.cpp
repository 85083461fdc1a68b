#include "traces/replay/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "topology/name_pattern.hpp"

namespace lockstep::replay {
namespace {

constexpr std::string_view kLoader = "enumerate(DataLoader)";

std::string lower(std::string_view text) {
  std::string made{text};
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

bool is_copy(const KernelCall& kernel) {
  return kernel.name.starts_with("Memcpy") || kernel.name.starts_with("Memset");
}
bool is_communication(const KernelCall& kernel) {
  return lower(kernel.name).starts_with("nccl");
}

bool blocks(Opcode op) {
  return op == Opcode::WaitEvent || op == Opcode::WaitStream || op == Opcode::WaitDevice ||
         op == Opcode::Await;
}

void scale(KernelCall& kernel, double factor) {
  if (auto* timed = std::get_if<Timed>(&kernel.work)) {
    timed->duration = factor * timed->duration;
  }
}

class ProgramEdit {
 public:
  ProgramEdit(const Program& program, const WhatIfSpec& edit) : program_{program}, edit_{edit} {}

  Program run() {
    kernels();
    collectives();
    if (!edit_.host_waits) {
      drop_waits();
    }
    if (!edit_.data_loading) {
      drop_loading();
    }
    if (edit_.cuda_graphs) {
      std::ranges::for_each(program_.threads, [this](Program::Thread& thread) { to_graphs(thread); });
    }
    return std::move(program_);
  }

 private:
  void kernels() {
    std::vector<bool> removed(program_.kernels.size(), false);
    for (std::size_t i = 0; i < program_.kernels.size(); ++i) {
      KernelCall& kernel = program_.kernels[i];
      for (const KernelEdit& edit : edit_.kernels) {
        if (matches("*" + lower(edit.match) + "*", lower(kernel.name))) {
          scale(kernel, 1 / edit.faster);
          removed[i] = removed[i] || edit.remove;
        }
      }
      if (is_communication(kernel)) {
        scale(kernel, edit_.communication);
      } else if (!is_copy(kernel)) {
        scale(kernel, 1 / edit_.gpu_speed);
      }
    }
    drop_launches(removed);
  }

  void drop_launches(const std::vector<bool>& removed) {
    for (Program::Thread& thread : program_.threads) {
      auto& code = thread.instructions;
      for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i].op == Opcode::Launch && removed[code[i].operand]) {
          const bool has_lag = i > 0 && code[i - 1].op == Opcode::StartLag;
          code[i] = nothing();
          code[has_lag ? i - 1 : i] = nothing();
        }
      }
    }
  }

  void collectives() {
    for (CollectiveCall& call : program_.collectives) {
      call.size = edit_.communication * call.size;
      for (double& bytes : call.send_bytes) {
        bytes *= edit_.communication;
      }
      if (call.recorded) {
        call.recorded = edit_.communication * *call.recorded;
      }
    }
  }

  /// The last wait of the main thread is the end of the window.
  void drop_waits() {
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      auto& code = program_.threads[thread].instructions;
      for (std::size_t i = 0; i + (thread == 0 ? 1 : 0) < code.size(); ++i) {
        if (blocks(code[i].op) && code[i].op != Opcode::Await) {
          code[i] = nothing(code[i].lead);
        }
      }
    }
  }

  /// By instruction: whether it is within a data loader's range.
  [[nodiscard]] std::vector<bool> loading(const Program::Thread& thread) const {
    std::vector<bool> within;
    int depth = 0;
    int loader = 0;  // the depth at which its range was opened; 0: none is open
    for (const Instruction& instruction : thread.instructions) {
      within.push_back(loader > 0);
      if (instruction.op == Opcode::RangeBegin) {
        ++depth;
        loader = loader == 0 && program_.names[instruction.operand].starts_with(kLoader) ? depth : loader;
      } else if (instruction.op == Opcode::RangeEnd) {
        loader = loader == depth ? 0 : loader;
        --depth;
      }
    }
    return within;
  }

  void drop_loading() {
    for (Program::Thread& thread : program_.threads) {
      const std::vector<bool> within = loading(thread);
      for (std::size_t i = 0; i < within.size(); ++i) {
        Instruction& instruction = thread.instructions[i];
        if (within[i] && instruction.op != Opcode::StartLag) {
          instruction.lead = instruction.cost = 0;
        }
      }
    }
  }

  /// Between two waits the first launch pays its call; else only data loading costs host time.
  void to_graphs(Program::Thread& thread) {
    auto& code = thread.instructions;
    const std::vector<bool> within = loading(thread);
    for (std::size_t first = 0; first < code.size();) {
      std::size_t last = first;
      while (last < code.size() && !blocks(code[last].op)) {
        ++last;
      }
      const auto launch = std::find_if(code.begin() + static_cast<std::ptrdiff_t>(first),
                                       code.begin() + static_cast<std::ptrdiff_t>(last),
                                       [](const Instruction& i) { return i.op == Opcode::Launch; });
      const auto paid = static_cast<std::size_t>(launch - code.begin());
      for (std::size_t i = first; i < last && paid < last; ++i) {
        if (code[i].op != Opcode::StartLag && !within[i]) {
          code[i].lead = 0;
          code[i].cost = i == paid ? code[i].cost : 0;
        }
      }
      first = last + 1;
    }
  }

  /// Takes the place of what is gone.
  Instruction nothing(float lead = 0) {
    if (!nothing_) {
      nothing_ = static_cast<std::uint32_t>(program_.names.size());
      program_.names.emplace_back("removed");
    }
    Instruction made;
    made.op = Opcode::HostWork;
    made.operand = *nothing_;
    made.lead = lead;
    return made;
  }

  Program program_;
  const WhatIfSpec& edit_;
  std::optional<std::uint32_t> nothing_;
};

/// The k-th kernel of a name on a stream is the same operation on all ranks.
class StragglerCure {
 public:
  StragglerCure(std::vector<Program>& programs, StragglerEdit edit) : programs_{programs}, edit_{edit} {}

  void run() {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      visit(programs_[i], [&](const Key& key, const KernelCall& kernel, Instruction& /*launch*/) {
        times_[key].push_back(std::get<Timed>(kernel.work).duration.in_base_units());
      });
    }
    for (auto& [key, times] : times_) {
      std::ranges::sort(times);
    }
    for (Program& program : programs_) {
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
    return edit_ == StragglerEdit::Median ? times[times.size() / 2] : times.front();
  }

  template <class Visit>
  static void visit(Program& program, Visit see) {
    std::map<std::pair<std::string, std::uint8_t>, std::uint32_t> seen;
    for (Program::Thread& thread : program.threads) {
      for (Instruction& instruction : thread.instructions) {
        if (instruction.op != Opcode::Launch) {
          continue;
        }
        const KernelCall& kernel = program.kernels[instruction.operand];
        if (std::holds_alternative<Timed>(kernel.work)) {
          const std::uint32_t occurrence = seen[{kernel.name, instruction.stream}]++;
          see(Key{kernel.name, program.streams[instruction.stream], occurrence}, kernel, instruction);
        }
      }
    }
  }

  std::vector<Program>& programs_;
  StragglerEdit edit_;
  std::map<Key, std::vector<double>> times_;
};

void expect_positive(double value, const char* what) {
  if (!(value > 0)) {
    throw std::invalid_argument{fmt::format("'{}' must be greater than 0, not {}", what, value)};
  }
}

}  // namespace

void KernelEdit::check() const {
  expect_positive(faster, "faster");
}

void WhatIfSpec::check() const {
  expect_positive(gpu_speed, "gpu_speed");
  expect_positive(host_speed, "host_speed");
  expect_positive(communication, "communication");
}

std::vector<NamedWhatIf> one_by_one(const WhatIfSpec& edit) {
  std::vector<NamedWhatIf> changes;
  const auto alone = [&](const std::string& name, auto WhatIfSpec::*field) {
    const WhatIfSpec usual;
    WhatIfSpec changed;
    changed.*field = edit.*field;
    if (changed.*field != usual.*field) {
      changes.push_back({name, changed});
    }
  };
  alone(fmt::format("GPU {} times as fast", edit.gpu_speed), &WhatIfSpec::gpu_speed);
  alone(fmt::format("host {} times as fast", edit.host_speed), &WhatIfSpec::host_speed);
  for (const KernelEdit& kernel : edit.kernels) {
    WhatIfSpec changed;
    changed.kernels = {kernel};
    changes.push_back({kernel.remove
                           ? fmt::format("without kernels '{}'", kernel.match)
                           : fmt::format("kernels '{}' {} times as fast", kernel.match, kernel.faster),
                       changed});
  }
  alone("CUDA graphs", &WhatIfSpec::cuda_graphs);
  alone("no host waits", &WhatIfSpec::host_waits);
  alone("no data loading", &WhatIfSpec::data_loading);
  alone(fmt::format("communication of {} of the bytes", edit.communication), &WhatIfSpec::communication);
  alone(fmt::format("stragglers: {}", edit.stragglers == StragglerEdit::Median ? "median" : "fastest"),
        &WhatIfSpec::stragglers);
  if (changes.size() > 1) {
    changes.push_back({"all together", edit});
  }
  return changes;
}

Job edited(const Job& job, const WhatIfSpec& edit) {
  Job made = job;
  std::vector<Program> programs;
  for (const auto& program : job.programs) {
    programs.push_back(ProgramEdit{*program, edit}.run());
  }
  if (edit.stragglers != StragglerEdit::Keep) {
    StragglerCure{programs, edit.stragglers}.run();
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    made.programs[i] = std::make_shared<const Program>(std::move(programs[i]));
  }
  return made;
}

}  // namespace lockstep::replay
