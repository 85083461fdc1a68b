#include "synth/replicas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::synth {
namespace {

bool reduces_gradients(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllGather;
}

/// Use of a group: most bytes that a member hands to one reduction, and whether it has messages.
struct GroupUse {
  double reduced = 0;
  bool has_messages = false;
};

std::vector<GroupUse> uses_of(const Job& job) {
  std::vector<GroupUse> uses(job.groups.size());
  for (const RankAssignment& rank : job.ranks) {
    const Program& program = *job.programs[rank.program];
    for (const CollectiveCall& call : program.collectives) {
      GroupUse& use = uses[rank.groups[call.group]];
      use.has_messages =
          use.has_messages || call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
      if (reduces_gradients(call.kind)) use.reduced = std::max(use.reduced, call.size.in_base_units());
    }
  }
  return uses;
}

/// Groups of data parallelism: those of all ranks, else those whose members lie farthest apart.
std::vector<bool> growing_groups(const Job& job) {
  const std::vector<GroupUse> uses = uses_of(job);
  std::vector<bool> grows(job.groups.size(), false);
  std::uint32_t widest = 0;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& ranks = job.groups[i].ranks;
    grows[i] = ranks.size() == job.ranks.size() && !uses[i].has_messages;
    if (ranks.size() > 1 && !uses[i].has_messages && !grows[i])
      widest = std::max(widest, ranks[1] - ranks[0]);
  }
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& ranks = job.groups[i].ranks;
    const bool is_apart = ranks.size() > 1 && !uses[i].has_messages && ranks[1] - ranks[0] == widest;
    grows[i] = grows[i] || is_apart || ranks.size() == 1;
  }
  return grows;
}

/// Uneven all-to-alls of groups that grew: a member sends each its part to as many more.
void spread_over(Job& job, std::uint32_t times) {
  for (auto& shared : job.programs) {
    auto program = std::make_shared<Program>(*shared);
    for (CollectiveCall& call : program->collectives) {
      if (call.send_bytes.empty()) continue;
      std::vector<double> bytes;
      for (std::uint32_t time = 0; time < times; ++time) {
        for (const double part : call.send_bytes) bytes.push_back(part / times);
      }
      call.send_bytes = std::move(bytes);
    }
    shared = std::move(program);
  }
}

}  // namespace

Job replicated(const Job& job, std::uint32_t times) {
  const std::vector<bool> grows = growing_groups(job);
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  Job made;
  made.steps = job.steps;
  for (const auto& program : job.programs) {
    auto copy = std::make_shared<Program>(*program);
    made.programs.push_back(copy);
  }
  std::vector<std::vector<std::uint32_t>> group(times, std::vector<std::uint32_t>(job.groups.size()));
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    for (std::uint32_t time = 0; time < times; ++time) {
      const bool is_new = time == 0 || !grows[i];
      group[time][i] = is_new ? static_cast<std::uint32_t>(made.groups.size()) : group[0][i];
      if (is_new) made.groups.push_back({fmt::format("group{}", made.groups.size() + 1), {}});
      for (const std::uint32_t rank : job.groups[i].ranks) {
        made.groups[group[time][i]].ranks.push_back(time * ranks + rank);
      }
    }
  }
  for (std::uint32_t time = 0; time < times; ++time) {
    for (RankAssignment rank : job.ranks) {
      for (std::uint32_t& of_rank : rank.groups) of_rank = group[time][of_rank];
      made.ranks.push_back(std::move(rank));
    }
  }
  spread_over(made, times);
  return made;
}

}  // namespace lockstep::synth
