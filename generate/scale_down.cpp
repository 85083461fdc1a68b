#include "generate/scale_down.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "generate/meetings.hpp"
#include "generate/scale_delays.hpp"
#include "ops/call_hash.hpp"
#include "ops/collectives/channels.hpp"
#include "ops/intern_table.hpp"

namespace lockstep::generate {
namespace {

/// Ranks that run one Program with one content of slots are alike as far as their work goes.
/// @param ends by rank: when its last work was over; the step waits for the last
std::vector<std::uint32_t> representatives(const Job& job, std::span<const RankResult> ends,
                                           std::uint32_t count) {
  using Class = std::tuple<std::uint32_t, std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
  std::map<Class, std::uint32_t> classes;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const RankAssignment& own = job.ranks[rank];
    classes.try_emplace({own.program, own.kernel_slots, own.collective_slots}, rank);
  }
  const auto last = std::ranges::max_element(ends, {}, &RankResult::end) - ends.begin();
  std::vector<std::uint32_t> chosen{static_cast<std::uint32_t>(last)};
  const RankAssignment& slowest = job.ranks[static_cast<std::size_t>(last)];
  classes.erase({slowest.program, slowest.kernel_slots, slowest.collective_slots});
  std::vector<std::uint32_t> others;
  for (const auto& [content, rank] : classes) {
    others.push_back(rank);
  }
  std::ranges::sort(others);
  others.resize(std::min<std::size_t>(others.size(), count - 1));
  chosen.insert(chosen.end(), others.begin(), others.end());
  for (std::uint32_t rank = 0; chosen.size() < count; ++rank) {
    if (std::ranges::find(chosen, rank) == chosen.end()) {
      chosen.push_back(rank);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

/// Copies share links to the host with the ranks that are missing: each gets the time that it took among all.
class CopiesOfRank {
 public:
  CopiesOfRank(std::uint32_t rank, const RankAssignment& own, const MeetingRecorder& meetings,
               Program& program, std::vector<BenchmarkKernel>& kernels)
      : rank_{rank}, own_{own}, meetings_{meetings}, program_{program}, kernels_{kernels} {}

  void write() {
    for (std::uint32_t thread = 0; thread < program_.threads.size(); ++thread) {
      auto& code = program_.threads[thread].instructions;
      for (std::uint32_t at = 0; at < code.size(); ++at) {
        if (code[at].op == Opcode::Launch) {
          lengthen(code[at], {rank_, thread, at});
        }
      }
    }
  }

 private:
  void lengthen(Instruction& launch, const Place& place) {
    const std::uint32_t number = launch.per_rank ? own_.kernel_slots[launch.operand] : launch.operand;
    if (!std::holds_alternative<Memcpy>(program_.kernels[number].work)) {
      return;
    }
    constexpr double kResolution = 1e-10;  // s; below it two durations are one
    const Meeting& took = meetings_.at(place);
    const auto ticks = std::llround((took.ended - took.arrived) / kResolution);
    const double seconds = kResolution * static_cast<double>(ticks);
    if (!(seconds > kernels_[number].seconds * (1 + 1e-6))) {
      return;  // nobody slows it
    }
    const auto [known, is_new] =
        longer_.try_emplace({number, ticks}, static_cast<std::uint32_t>(kernels_.size()));
    if (is_new) {
      kernels_.push_back(kernels_[number]);
      kernels_.back().seconds = seconds;
      program_.kernels.push_back(program_.kernels[number]);
      program_.kernels.back().work = Timed{Seconds{seconds}};
    }
    launch.per_rank = false;
    launch.operand = known->second;
  }

  std::uint32_t rank_;
  const RankAssignment& own_;
  const MeetingRecorder& meetings_;
  Program& program_;
  std::vector<BenchmarkKernel>& kernels_;
  std::map<std::pair<std::uint32_t, long long>, std::uint32_t> longer_;
};

/// Writes the small job. Each chosen rank has a Program of its own: what it waits for is its own.
class SmallJob {
 public:
  SmallJob(const Benchmark& source, std::vector<std::uint32_t> chosen, const MeetingRecorder& meetings,
           const Fabric& fabric)
      : source_{source},
        job_{source.job},
        meetings_{meetings},
        fabric_{fabric},
        transfers_{source.job, chosen, meetings} {
    made_.chosen = std::move(chosen);
    shrink_groups();
  }

  std::pair<Benchmark, ScaleDown> write() && {
    for (std::size_t i = 0; i < made_.chosen.size(); ++i) {
      write_rank(static_cast<std::uint32_t>(i));
    }
    std::erase_if(groups_, [](const ProcessGroup& group) { return group.ranks.empty(); });
    small_.job.groups = std::move(groups_);
    small_.job.steps = job_.steps;
    small_.job.memory = job_.memory;
    return {std::move(small_), std::move(made_)};
  }

 private:
  [[nodiscard]] std::ptrdiff_t number_of(std::uint32_t rank) const {
    const auto found = std::ranges::lower_bound(made_.chosen, rank);
    return found != made_.chosen.end() && *found == rank ? found - made_.chosen.begin() : -1;
  }

  void shrink_groups() {
    for (const ProcessGroup& group : job_.groups) {
      ProcessGroup small{group.name, {}};
      for (const std::uint32_t rank : group.ranks) {
        if (const std::ptrdiff_t number = number_of(rank); number >= 0) {
          small.ranks.push_back(static_cast<std::uint32_t>(number));
        }
      }
      group_numbers_.push_back(static_cast<std::uint32_t>(kept_groups_));
      kept_groups_ += small.ranks.empty() ? 0 : 1;
      groups_.push_back(std::move(small));
    }
  }

  template <class Use>
  void for_each_collective(std::uint32_t rank, const Use& use) const {
    const RankAssignment& own = job_.ranks[rank];
    const Program& program = *job_.programs[own.program];
    for (std::uint32_t thread = 0; thread < program.threads.size(); ++thread) {
      const auto& code = program.threads[thread].instructions;
      for (std::uint32_t at = 0; at < code.size(); ++at) {
        if (code[at].op == Opcode::Collective) {
          use(thread, at,
              program.collectives[code[at].per_rank ? own.collective_slots[code[at].operand]
                                                    : code[at].operand]);
        }
      }
    }
  }

  void write_rank(std::uint32_t number) {
    const std::uint32_t rank = made_.chosen[number];
    const RankAssignment& own = job_.ranks[rank];
    Program program = *job_.programs[own.program];
    InternTable<CollectiveCall, &hash_of> calls;
    AloneGroups alone{number, {}};
    const std::size_t own_groups = program.groups.size();
    for_each_collective(rank, [&](std::uint32_t thread, std::uint32_t at, const CollectiveCall& call) {
      Instruction& i = program.threads[thread].instructions[at];
      i.per_rank = false;
      i.operand = calls.intern(small_call({rank, thread, at}, call, alone));
    });
    program.collectives = std::move(calls).take();
    program.groups.resize(own_groups + alone.numbers.size(), "alone");
    std::vector<BenchmarkKernel> kernels = source_.kernels[own.program];
    CopiesOfRank{rank, own, meetings_, program, kernels}.write();
    RankAssignment assignment = own;
    assignment.gpu = job_.ranks[number].gpu;
    assignment.program = number;
    for (std::uint32_t& group : assignment.groups) {
      group = group_numbers_[group];
    }
    for (std::size_t i = 0; i < alone.numbers.size(); ++i) {
      assignment.groups.push_back(static_cast<std::uint32_t>(kept_groups_ + alone_groups_++));
    }
    assignment.collective_slots.clear();
    small_.job.ranks.push_back(std::move(assignment));
    small_.job.programs.push_back(std::make_shared<const Program>(std::move(program)));
    small_.kernels.push_back(std::move(kernels));
    if (!source_.memory.empty()) {
      small_.memory.push_back(source_.memory[own.program]);
    }
  }

  /// Groups of a rank alone: one in place of each communicator, since a communicator's kernels take turns.
  struct AloneGroups {
    std::uint32_t number = 0;  ///< of the rank in the small job
    std::map<std::tuple<std::uint32_t, CollectiveKind, int>, std::uint32_t> numbers;  ///< in its Program
  };

  std::uint32_t alone_group(AloneGroups& alone, const CollectiveCall& call, std::size_t own_groups) {
    const bool is_pair = is_message(call);
    const auto next = static_cast<std::uint32_t>(own_groups + alone.numbers.size());
    const auto [known, is_new] = alone.numbers.try_emplace(
        {call.group, is_pair ? call.kind : CollectiveKind::AllReduce, is_pair ? call.peer : 0}, next);
    if (is_new) {
      groups_.push_back({fmt::format("rank {} alone, {}", made_.chosen[alone.number], alone.numbers.size()),
                         {alone.number}});
    }
    return known->second;
  }

  CollectiveCall small_call(const Place& place, CollectiveCall call, AloneGroups& alone) {
    const std::uint32_t rank = std::get<0>(place);
    const std::uint32_t group = job_.ranks[rank].groups[call.group];
    const std::vector<std::uint32_t>& members = job_.groups[group].ranks;
    const std::vector<std::uint32_t>& there = groups_[group].ranks;
    if (members.size() == there.size() && are_on_the_same_gpus(members)) {
      return call;
    }
    const Meeting& meeting = meetings_.at(place);
    call.sm_limit = std::min(call.sm_limit, channels_of(members));
    const bool has_other =
        is_message(call) ? number_of(members[static_cast<std::size_t>(call.peer)]) >= 0 : there.size() > 1;
    if (!has_other) {
      ++made_.alone;
      CollectiveCall waits;
      waits.kind = CollectiveKind::AllReduce;
      waits.type = call.type;
      waits.group = alone_group(alone, call, job_.programs[job_.ranks[rank].program]->groups.size());
      waits.size = call.size;
      waits.sm_limit = call.sm_limit;
      waits.recorded = Seconds{meeting.ended - meeting.arrived};
      return waits;
    }
    if (is_message(call)) {
      const std::ptrdiff_t other = number_of(members[static_cast<std::size_t>(call.peer)]);
      call.peer =
          static_cast<int>(std::ranges::find(there, static_cast<std::uint32_t>(other)) - there.begin());
      call.recorded = Seconds{transfers_.at(place)};
      return call;
    }
    ++made_.shrunk;
    if (!call.send_bytes.empty()) {
      keep_members(call, members);
    } else {
      // A rank still holds or sends the part for absent members: bytes per rank stay those of the
      // source.
      const std::ptrdiff_t root = number_of(members[static_cast<std::size_t>(call.peer)]);
      call.peer =
          root < 0
              ? 0
              : static_cast<int>(std::ranges::find(there, static_cast<std::uint32_t>(root)) - there.begin());
    }
    call.recorded = Seconds{transfers_.at(place)};
    return call;
  }

  /// Whether a group that is complete has the links that it had: the small job's ranks are on the first GPUs.
  [[nodiscard]] bool are_on_the_same_gpus(const std::vector<std::uint32_t>& members) const {
    return std::ranges::all_of(members, [&](std::uint32_t rank) {
      return job_.ranks[rank].gpu == job_.ranks[static_cast<std::size_t>(number_of(rank))].gpu;
    });
  }

  /// SMs that a kernel of all members holds.
  [[nodiscard]] int channels_of(const std::vector<std::uint32_t>& members) const {
    std::vector<VertexId> gpus;
    std::ranges::transform(members, std::back_inserter(gpus),
                           [&](std::uint32_t rank) { return job_.ranks[rank].gpu; });
    return channel_limit(fabric_, gpus);
  }

  void keep_members(CollectiveCall& call, const std::vector<std::uint32_t>& members) const {
    std::vector<double> kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (number_of(members[i]) >= 0) {
        kept.push_back(call.send_bytes[i]);
      }
    }
    call.size = Bytes{std::accumulate(kept.begin(), kept.end(), 0.0)};
    call.send_bytes = std::move(kept);
  }

  const Benchmark& source_;
  const Job& job_;
  const MeetingRecorder& meetings_;
  const Fabric& fabric_;
  ScaleDown made_;
  Benchmark small_;
  std::vector<ProcessGroup> groups_;
  std::vector<std::uint32_t> group_numbers_;  // by group of the source: among those that are kept
  std::size_t kept_groups_ = 0, alone_groups_ = 0;
  Transfers transfers_;
};

bool is_recorded(const Job& job) {
  return std::ranges::any_of(job.programs, [](const auto& program) {
    return std::ranges::any_of(program->collectives,
                               [](const CollectiveCall& call) { return call.recorded.has_value(); });
  });
}

}  // namespace

ScaleDown scale_down(Benchmark& benchmark, const Machine& machine, std::uint32_t ranks) {
  const Job& job = benchmark.job;
  if (ranks < 1 || ranks > job.ranks.size()) {
    throw std::invalid_argument{
        fmt::format("--ranks: from 1 to the {} that the job has, not {}", job.ranks.size(), ranks)};
  }
  MeetingRecorder meetings{job.steps};
  const SimulationResult whole = machine.simulate(job, &meetings);
  const bool was_recorded = is_recorded(job);
  auto [small, made] =
      SmallJob{benchmark, representatives(job, whole.ranks, ranks), meetings, machine.fabric()}.write();
  add_delays(small, machine, was_recorded);
  benchmark = std::move(small);
  return made;
}

}  // namespace lockstep::generate
