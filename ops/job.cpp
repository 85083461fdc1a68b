#include "ops/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "ops/program_check.hpp"

namespace lockstep {
namespace {

[[noreturn]] void reject(const std::string& why) {
  throw std::invalid_argument{why};
}

void expect_below(std::uint32_t index, std::size_t count, std::size_t rank, std::string_view what) {
  if (index >= count) {
    reject(fmt::format("rank {}: {} {} does not exist (there are {})", rank, what, index, count));
  }
}

/// Whether a rank belongs to a group, by binary search.
class Membership {
 public:
  explicit Membership(const Job& job) {
    for (const ProcessGroup& group : job.groups) {
      std::vector<std::uint32_t> ranks = group.ranks;
      std::sort(ranks.begin(), ranks.end());
      if (ranks.empty()) {
        reject(fmt::format("group '{}' has no ranks", group.name));
      }
      if (ranks.back() >= job.ranks.size()) {
        reject(fmt::format("group '{}': rank {} does not exist (the job has {})", group.name, ranks.back(),
                           job.ranks.size()));
      }
      const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
      if (twice != ranks.end()) {
        reject(fmt::format("group '{}' lists rank {} twice", group.name, *twice));
      }
      sorted_.push_back(std::move(ranks));
    }
  }

  [[nodiscard]] bool holds(std::uint32_t group, std::uint32_t rank) const {
    return std::binary_search(sorted_[group].begin(), sorted_[group].end(), rank);
  }

 private:
  std::vector<std::vector<std::uint32_t>> sorted_;
};

/// A collective as an instruction names it: by index, or by slot.
struct CollectiveUse {
  std::size_t thread;
  std::size_t instruction;
};

/// The first use of each.
std::vector<CollectiveUse> collectives_of(const Program& program) {
  std::vector<CollectiveUse> uses;
  std::array<std::vector<bool>, 2> seen;  // by index, by slot
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    const auto& instructions = program.threads[t].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].op != Opcode::Collective) {
        continue;
      }
      std::vector<bool>& known = seen.at(instructions[i].per_rank ? 1 : 0);
      if (known.size() <= instructions[i].operand) {
        known.resize(instructions[i].operand + 1, false);
      }
      if (!known[instructions[i].operand]) {
        known[instructions[i].operand] = true;
        uses.push_back({t, i});
      }
    }
  }
  return uses;
}

/// Facts that are the same for all ranks that run a program.
struct ProgramUse {
  SlotCounts slots;
  std::vector<CollectiveUse> collectives;
};

void check_slots(const std::vector<std::uint32_t>& slots, std::uint32_t wanted, std::size_t available,
                 std::size_t rank, std::string_view what) {
  if (slots.size() != wanted) {
    reject(fmt::format("rank {}: the program has {} {} slots, the rank fills {}", rank, wanted, what,
                       slots.size()));
  }
  for (const std::uint32_t slot : slots) {
    expect_below(slot, available, rank, what);
  }
}

void check_groups(const Job& job, const Membership& members, std::size_t rank) {
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  if (assignment.groups.size() != program.groups.size()) {
    reject(fmt::format("rank {}: the program uses {} groups, the rank names {}", rank, program.groups.size(),
                       assignment.groups.size()));
  }
  for (const std::uint32_t group : assignment.groups) {
    expect_below(group, job.groups.size(), rank, "group");
    if (!members.holds(group, static_cast<std::uint32_t>(rank))) {
      reject(fmt::format("rank {} uses group '{}' but is not a member", rank, job.groups[group].name));
    }
  }
}

void check_collectives(const Job& job, const ProgramUse& use, std::size_t rank) {
  const RankAssignment& assignment = job.ranks[rank];
  const Program& program = *job.programs[assignment.program];
  for (const auto& [thread, index] : use.collectives) {
    const Instruction& instruction = program.threads[thread].instructions[index];
    const std::uint32_t number =
        instruction.per_rank ? assignment.collective_slots[instruction.operand] : instruction.operand;
    const CollectiveCall& call = program.collectives[number];
    const auto complain = [&, t = thread, i = index](const std::string& why) {
      reject(fmt::format("rank {}, thread '{}', instruction {}: {}", rank, program.threads[t].name, i, why));
    };
    if (call.group >= program.groups.size()) {
      complain(
          fmt::format("group {} does not exist (the program has {})", call.group, program.groups.size()));
    }
    const std::size_t size = job.groups[assignment.groups[call.group]].ranks.size();
    if (!call.send_bytes.empty() && call.send_bytes.size() != size) {
      complain(fmt::format("sends to {} members, the group has {}", call.send_bytes.size(), size));
    }
    if (call.peer < 0 || static_cast<std::size_t>(call.peer) >= size) {
      complain(fmt::format("peer {} is not a position in a group of {}", call.peer, size));
    }
  }
}

void check_group_is_known(const Job& job, std::uint32_t group) {
  for (const std::uint32_t rank : job.groups[group].ranks) {
    const auto& known = job.ranks[rank].groups;
    if (std::find(known.begin(), known.end(), group) == known.end()) {
      reject(fmt::format("rank {} is a member of group '{}', but its program does not know the group", rank,
                         job.groups[group].name));
    }
  }
}

}  // namespace

void check(const Job& job) {
  if (job.steps < 1) {
    reject(fmt::format("a job needs at least one step, not {}", job.steps));
  }
  std::vector<ProgramUse> uses;
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    if (job.programs[p] == nullptr) {
      reject(fmt::format("program {} is null", p));
    }
    try {
      check(*job.programs[p]);
    } catch (const std::invalid_argument& error) {
      const auto user = std::find_if(job.ranks.begin(), job.ranks.end(),
                                     [&](const RankAssignment& rank) { return rank.program == p; });
      reject(
          fmt::format("program {} (first used by rank {}): {}", p, user - job.ranks.begin(), error.what()));
    }
    uses.push_back({slots_of(*job.programs[p]), collectives_of(*job.programs[p])});
  }
  const Membership members{job};
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankAssignment& assignment = job.ranks[rank];
    expect_below(assignment.program, job.programs.size(), rank, "program");
    const ProgramUse& use = uses[assignment.program];
    const Program& program = *job.programs[assignment.program];
    check_groups(job, members, rank);
    check_slots(assignment.kernel_slots, use.slots.kernels, program.kernels.size(), rank, "kernel");
    check_slots(assignment.collective_slots, use.slots.collectives, program.collectives.size(), rank,
                "collective");
    check_collectives(job, use, rank);
  }
  for (std::uint32_t group = 0; group < job.groups.size(); ++group) {
    check_group_is_known(job, group);
  }
}

}  // namespace lockstep
