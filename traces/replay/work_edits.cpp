#include "traces/replay/work_edits.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "topology/name_pattern.hpp"
#include "traces/replay/instruction_edits.hpp"

namespace lockstep::replay {
namespace {

std::string lower(std::string_view text) {
  std::string made{text};
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

/// `all_reduce`, `AllReduce` and `all-reduce` alike.
std::string without_marks(std::string_view text) {
  std::string made = lower(text);
  std::erase_if(made, [](char c) { return c == '_' || c == '-'; });
  return made;
}

bool is_copy(const KernelCall& kernel) {
  return kernel.name.starts_with("Memcpy") || kernel.name.starts_with("Memset");
}

/// A collective that met nobody is a kernel; NCCL sends an all-to-all as sends and receives.
bool is_meant(const CollectiveEdit& edit, const KernelCall& kernel, const WorkOrigin& origin) {
  const std::string kind = without_marks(edit.match);
  const std::string name = without_marks(kernel.name);
  const bool sends = without_marks("all_to_all").find(kind) != std::string::npos;
  return origin.communicates() &&
         (name.find(kind) != std::string::npos || (sends && name.find("sendrecv") != std::string::npos));
}
bool is_meant(const CollectiveEdit& edit, const CollectiveCall& call) {
  if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive) {  // two ends of one message
    const std::string kind = without_marks(edit.match);
    return std::string{"sendreceive"}.find(kind) != std::string::npos || kind == "sendrecv" || kind == "recv";
  }
  return without_marks(to_string(call.kind)).find(without_marks(edit.match)) != std::string::npos;
}

void scale(KernelCall& kernel, double factor) {
  if (auto* timed = std::get_if<Timed>(&kernel.work)) {
    timed->duration = factor * timed->duration;
  }
}

void scale(CollectiveCall& call, double factor) {
  call.size = factor * call.size;
  for (double& bytes : call.send_bytes) {
    bytes *= factor;
  }
  if (call.recorded) {
    call.recorded = factor * *call.recorded;
  }
}

class WorkEdit {
 public:
  WorkEdit(Program& program, const WhatIfSpec& edit, const KernelOrigins& origins)
      : program_{program}, edit_{edit}, origins_{origins} {}

  void run() {
    kernels();
    collectives();
    for (Program::Thread& thread : program_.threads) {
      drop(thread);
    }
    for (const KernelEdit& edit : edit_.kernels) {
      for (Program::Thread& thread : program_.threads) {
        if (edit.fuse) {
          fuse(thread, edit);
        }
      }
    }
  }

 private:
  void kernels() {
    removed_.assign(program_.kernels.size(), false);
    later_.assign(program_.kernels.size(), 0);
    for (std::size_t i = 0; i < program_.kernels.size(); ++i) {
      KernelCall& kernel = program_.kernels[i];
      for (const KernelEdit& edit : edit_.kernels) {
        if (is_meant(edit, kernel.name, origins_[i])) {
          scale(kernel, 1 / edit.faster);
          removed_[i] = removed_[i] || edit.remove;
        }
      }
      for (const CollectiveEdit& edit : edit_.collectives) {
        if (is_meant(edit, kernel, origins_[i])) {
          scale(kernel, edit.bytes);
          later_[i] += edit.extra.in_base_units();
        }
      }
      if (origins_[i].communicates()) {
        scale(kernel, edit_.communication);
      } else if (!is_copy(kernel)) {
        scale(kernel, 1 / edit_.gpu_speed);
      }
    }
  }

  void collectives() {
    later_calls_.assign(program_.collectives.size(), 0);
    for (std::size_t i = 0; i < program_.collectives.size(); ++i) {
      CollectiveCall& call = program_.collectives[i];
      for (const CollectiveEdit& edit : edit_.collectives) {
        if (is_meant(edit, call)) {
          scale(call, edit.bytes);
          later_calls_[i] += edit.extra.in_base_units();
        }
      }
      scale(call, edit_.communication);
    }
  }

  /// Launches of what is gone; starts of what begins later.
  void drop(Program::Thread& thread) {
    auto& code = thread.instructions;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const bool is_launch = code[i].op == Opcode::Launch;
      if (!is_launch && code[i].op != Opcode::Collective) {
        continue;
      }
      const auto extra =
          static_cast<float>(is_launch ? later_[code[i].operand] : later_calls_[code[i].operand]);
      if (is_launch && removed_[code[i].operand]) {
        remove(code, i);
      } else if (extra > 0 && has_lag(code, i)) {
        code[i - 1].lead += extra;  // either it is launched so much later ...
        code[i - 1].cost += extra;  // ... or its stream rests so much longer
      }
    }
  }

  static bool has_lag(const std::vector<Instruction>& code, std::size_t launch) {
    return launch > 0 && code[launch - 1].op == Opcode::StartLag;
  }

  void remove(std::vector<Instruction>& code, std::size_t launch) {
    if (has_lag(code, launch)) {
      code[launch - 1] = nothing(program_);
    }
    code[launch] = nothing(program_);
  }

  /// Fuses runs of launches on a stream: the first stays and takes as long as the longest.
  void fuse(Program::Thread& thread, const KernelEdit& edit) {
    auto& code = thread.instructions;
    std::map<std::uint8_t, std::size_t> runs;  // by stream: the launch that stays
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].op == Opcode::Launch) {
        const KernelCall& kernel = program_.kernels[code[i].operand];
        if (!is_meant(edit, kernel.name, origins_[code[i].operand]) ||
            !std::holds_alternative<Timed>(kernel.work)) {
          runs.erase(code[i].stream);
        } else if (const auto [run, fresh] = runs.try_emplace(code[i].stream, i); !fresh) {
          lengthen(code[run->second], code[i]);
          remove(code, i);
        }
      } else if (code[i].op == Opcode::Collective || code[i].op == Opcode::StreamWait) {
        runs.erase(code[i].stream);
      } else if (code[i].op == Opcode::WaitEvent || code[i].op == Opcode::WaitStream ||
                 code[i].op == Opcode::WaitDevice || code[i].op == Opcode::Await) {
        runs.clear();
      }
    }
  }

  void lengthen(Instruction& first, const Instruction& other) const {
    const auto time = [&](const Instruction& launch) {
      return std::get<Timed>(program_.kernels[launch.operand].work).duration;
    };
    if (time(other) > time(first)) {
      first.operand = other.operand;
    }
  }

  Program& program_;
  const WhatIfSpec& edit_;
  const KernelOrigins& origins_;
  std::vector<bool> removed_;                // by kernel
  std::vector<double> later_, later_calls_;  // s, by kernel and by collective
};

}  // namespace

bool has_name(const std::string& name, std::string_view pattern) {
  return matches("*" + lower(pattern) + "*", lower(name));
}

bool is_named(const std::string& kernel, const WorkOrigin& origin, std::string_view pattern) {
  return has_name(kernel, pattern) || (!origin.communicates() && lower(pattern) == lower(origin.family));
}

bool is_meant(const KernelEdit& edit, const std::string& kernel, const WorkOrigin& origin) {
  return (edit.match.empty() || is_named(kernel, origin, edit.match)) &&
         (edit.family.empty() || edit.family == origin.family) &&
         (edit.launcher.empty() || matches(lower(edit.launcher), lower(origin.launcher)));
}

void edit_work(Program& program, const WhatIfSpec& edit, const KernelOrigins& origins) {
  WorkEdit{program, edit, origins}.run();
}

}  // namespace lockstep::replay
