#include "traces/replay/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "topology/cluster_words.hpp"
#include "traces/replay/host_straggler_cure.hpp"
#include "traces/replay/instruction_edits.hpp"
#include "traces/replay/open_ranges.hpp"
#include "traces/replay/straggler_replacement.hpp"
#include "traces/replay/work_edits.hpp"

namespace lockstep::replay {
namespace {

constexpr std::string_view kLoader = "enumerate(DataLoader)";

bool blocks(Opcode op) {
  return op == Opcode::WaitEvent || op == Opcode::WaitStream || op == Opcode::WaitDevice ||
         op == Opcode::Await;
}

class ProgramEdit {
 public:
  ProgramEdit(const Program& program, const WhatIfSpec& edit, const KernelOrigins& origins)
      : program_{program}, edit_{edit}, origins_{origins} {}

  Program run() {
    edit_work(program_, edit_, origins_);
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
  /// The last wait of the main thread is the end of the window.
  void drop_waits() {
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      auto& code = program_.threads[thread].instructions;
      for (std::size_t i = 0; i + (thread == 0 ? 1 : 0) < code.size(); ++i) {
        if (blocks(code[i].op) && code[i].op != Opcode::Await) {
          code[i] = nothing(program_, code[i].lead);
        }
      }
    }
  }

  [[nodiscard]] std::vector<bool> loading(const Program::Thread& thread) const {
    return within_ranges(program_, thread, [](const std::string& name) { return name.starts_with(kLoader); });
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

  Program program_;
  const WhatIfSpec& edit_;
  const KernelOrigins& origins_;
};

void expect_positive(double value, const char* what) {
  if (!(value > 0)) {
    throw std::invalid_argument{fmt::format("'{}' must be greater than 0, not {}", what, value)};
  }
}

std::string name_of(const KernelEdit& kernel) {
  const std::string kernels = kernel.described();
  return kernel.remove ? "without " + kernels
         : kernel.fuse && kernel.faster != 1
             ? fmt::format("{} fused, {} times as fast", kernels, kernel.faster)
         : kernel.fuse ? kernels + " fused"
                       : fmt::format("{} {} times as fast", kernels, kernel.faster);
}

std::string name_of_cure(const WhatIfSpec& edit) {
  std::string name =
      fmt::format("stragglers: {}", edit.stragglers == StragglerEdit::Median ? "median" : "fastest");
  name += edit.straggler_work == StragglerWork::Host   ? ", host"
          : edit.straggler_work == StragglerWork::Both ? ", kernels and host"
                                                       : "";
  name += edit.straggler_kernels == "*" ? "" : fmt::format(", kernels '{}'", edit.straggler_kernels);
  name += edit.straggler_operators == "*" ? "" : fmt::format(", within '{}'", edit.straggler_operators);
  name += edit.straggler_stages.empty() ? "" : fmt::format(", {} stages", edit.straggler_stages.size());
  return edit.straggler_ranks.empty()
             ? name
             : name + fmt::format(", ranks {}", fmt::join(edit.straggler_ranks, ","));
}

/// Another machine, and another network on that one or on the replay's.
void add_machines(const WhatIfSpec& edit, std::vector<NamedWhatIf>& changes) {
  WhatIfSpec changed;
  std::string where;
  if (edit.cluster) {
    changed.cluster = edit.cluster;
    where = "on " + in_words(*edit.cluster);
    changes.push_back({where, changed});
  }
  if (edit.network) {
    changed.network = edit.network;
    changes.push_back({(where.empty() ? "" : where + ", ") + name_of(*edit.network), changed});
  }
}

/// Kernels and host also one without the other.
void add_cures(const WhatIfSpec& edit, std::vector<NamedWhatIf>& changes) {
  WhatIfSpec changed;
  changed.stragglers = edit.stragglers;
  changed.straggler_kernels = edit.straggler_kernels;
  changed.straggler_operators = edit.straggler_operators;
  changed.straggler_ranks = edit.straggler_ranks;
  changed.straggler_stages = edit.straggler_stages;
  if (edit.straggler_work == StragglerWork::Both) {
    for (const StragglerWork part : {StragglerWork::Kernels, StragglerWork::Host}) {
      changed.straggler_work = part;
      changes.push_back({name_of_cure(changed), changed});
    }
  }
  changed.straggler_work = edit.straggler_work;
  changes.push_back({name_of_cure(changed), changed});
}

bool has_straggler_keys(const WhatIfSpec& edit) {
  return edit.straggler_work != StragglerWork::Kernels || edit.straggler_kernels != "*" ||
         edit.straggler_operators != "*" || !edit.straggler_ranks.empty() || !edit.straggler_stages.empty();
}

}  // namespace

std::string KernelEdit::described() const {
  std::string text = "kernels";
  text += match.empty() ? "" : fmt::format(" '{}'", match);
  text += family.empty() ? "" : fmt::format(" of family {}", family);
  return text + (launcher.empty() ? "" : fmt::format(" of {}", launcher));
}

void KernelEdit::check() const {
  if (match.empty() && family.empty() && launcher.empty()) {
    throw std::invalid_argument{
        "which kernels? Say 'match' (part of their names), 'family' (gemm, attention, ...) or 'operator' "
        "(aten::mm)"};
  }
  if (family == KernelFamilies::kCommunication) {
    throw FieldError{
        "family", "communication is changed by what_if.communication or what_if.collectives, not as kernels"};
  }
  expect_positive(faster, "faster");
  if (remove && fuse) {
    throw std::invalid_argument{"'remove' and 'fuse' are two different changes: say one of them"};
  }
  if (remove && faster != 1) {
    throw std::invalid_argument{"kernels that are gone ('remove') are not 'faster': say one of them"};
  }
  if (!remove && !fuse && faster == 1) {
    throw std::invalid_argument{fmt::format(
        "nothing is changed of the {}: say 'faster', e.g. 2, 'remove: true' or 'fuse: true'", described())};
  }
}

void CollectiveEdit::check() const {
  expect_positive(bytes, "bytes");
  if (extra < Seconds{0}) {
    throw std::invalid_argument{"'extra' must not be negative"};
  }
  if (bytes == 1 && extra == Seconds{0}) {
    throw std::invalid_argument{
        fmt::format("nothing is changed of the collectives '{}': say 'bytes', e.g. 0.5, or 'extra'", match)};
  }
}

void WhatIfSpec::check() const {
  expect_positive(gpu_speed, "gpu_speed");
  expect_positive(host_speed, "host_speed");
  expect_positive(communication, "communication");
  if (stragglers == StragglerEdit::Keep && has_straggler_keys(*this)) {
    throw std::invalid_argument{"'straggler_...' says nothing without 'stragglers: median' or 'fastest'"};
  }
  if (straggler_work == StragglerWork::Host && straggler_kernels != "*") {
    throw std::invalid_argument{
        "'straggler_kernels' says nothing of the host: say 'straggler_work: both', or 'straggler_operators'"};
  }
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
    changes.push_back({name_of(kernel), changed});
  }
  alone("CUDA graphs", &WhatIfSpec::cuda_graphs);
  alone("no host waits", &WhatIfSpec::host_waits);
  alone("no data loading", &WhatIfSpec::data_loading);
  alone(fmt::format("communication of {} of the bytes", edit.communication), &WhatIfSpec::communication);
  for (const CollectiveEdit& collective : edit.collectives) {
    WhatIfSpec changed;
    changed.collectives = {collective};
    changes.push_back({fmt::format("{} of {} of the bytes", collective.match, collective.bytes), changed});
  }
  if (edit.buckets) {
    constexpr double kMebi = 1024.0 * 1024;
    alone(fmt::format("gradients in buckets of {:.4g} MiB", edit.buckets->size.in_base_units() / kMebi),
          &WhatIfSpec::buckets);
  }
  add_machines(edit, changes);
  const std::size_t others = changes.size();
  if (edit.stragglers != StragglerEdit::Keep) {
    add_cures(edit, changes);
  }
  const bool is_last_all = edit.cluster && edit.network && changes.size() == 2;
  if (others > 0 && changes.size() > 1 && !is_last_all) {  // else the last of the cures is all of them
    changes.push_back({"all together", edit});
  }
  return changes;
}

Job edited(const Job& job, const WhatIfSpec& edit, std::vector<KernelOrigins> origins) {
  Job made = job;
  std::vector<Program> programs;
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    if (origins.size() == i) {
      origins.push_back(origins_by_name(*job.programs[i]));
    }
    programs.push_back(ProgramEdit{*job.programs[i], edit, origins[i]}.run());
  }
  if (edit.stragglers != StragglerEdit::Keep) {
    const StragglerPeers peers{programs.size(), edit};
    if (edit.straggler_work != StragglerWork::Host) {
      replace_straggler_times(programs, origins, edit, peers);
    }
    if (edit.straggler_work != StragglerWork::Kernels) {
      cure_host(programs, edit, peers);
    }
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    made.programs[i] = std::make_shared<const Program>(std::move(programs[i]));
  }
  return made;
}

}  // namespace lockstep::replay
