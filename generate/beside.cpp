#include "generate/beside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace lockstep::generate {
namespace {

using Code = benchmark::Opcode;

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::uint32_t count_of(const auto& list) {
  return static_cast<std::uint32_t>(list.size());
}

/// Adds a program to another: each number of it counts on from those that are there.
class Joined {
 public:
  Joined(benchmark::Program program, const benchmark::Rank& rank) : made_{std::move(program)}, rank_{rank} {}

  benchmark::Program with(const benchmark::Program& other) && {
    constexpr std::size_t kMostStreams = 256;
    if (made_.streams.size() + other.streams.size() > kMostStreams) {
      throw std::invalid_argument{fmt::format("--beside: {} streams on a GPU, and {} is the most",
                                              made_.streams.size() + other.streams.size(), kMostStreams)};
    }
    std::vector<benchmark::Thread> threads = other.threads;
    for (benchmark::Thread& thread : threads) {
      std::ranges::for_each(thread.instructions, [&](benchmark::Instruction& i) { count_on(i); });
    }
    add_kernels(other);
    for (benchmark::Collective call : other.collectives) {
      call.group += count_of(made_.groups);
      made_.collectives.push_back(std::move(call));
    }
    for (const std::uint32_t event : other.carried_events) {
      made_.carried_events.push_back(event + made_.events);
    }
    made_.events += other.events;
    made_.flags += other.flags;
    append(made_.streams, other.streams);
    append(made_.groups, other.groups);
    append(made_.names, other.names);
    append(made_.threads, threads);
    return std::move(made_);
  }

 private:
  void count_on(benchmark::Instruction& i) const {
    switch (i.op) {
      case Code::Launch:
        i.operand += i.per_rank ? count_of(rank_.kernel_slots) : count_of(made_.kernels);
        break;
      case Code::Collective:
        i.operand += i.per_rank ? count_of(rank_.collective_slots) : count_of(made_.collectives);
        break;
      case Code::Open:
      case Code::Host:
        i.operand += count_of(made_.names);
        break;
      case Code::Record:
      case Code::StreamWait:
      case Code::WaitEvent:
        i.operand += made_.events;
        break;
      case Code::Post:
      case Code::Await:
        i.operand += made_.flags;
        break;
      case Code::Close:
      case Code::WaitStream:
      case Code::WaitDevice:
      case Code::Lag:
        break;
    }
    i.stream = static_cast<std::uint8_t>(i.stream + made_.streams.size());
  }

  void add_kernels(const benchmark::Program& other) {
    int graphs = 0;
    for (const benchmark::Kernel& kernel : made_.kernels) {
      graphs = std::max(graphs, kernel.graph + 1);
    }
    const std::uint32_t views = count_of(made_.views);
    for (benchmark::Kernel kernel : other.kernels) {
      kernel.graph += kernel.graph < 0 ? 0 : graphs;
      std::ranges::for_each(kernel.reads, [&](std::uint32_t& view) { view += views; });
      std::ranges::for_each(kernel.writes, [&](std::uint32_t& view) { view += views; });
      made_.kernels.push_back(std::move(kernel));
    }
    for (const benchmark::View& view : other.views) {
      made_.views.push_back({view.place + made_.memory, view.bytes});
    }
    made_.memory += other.memory;
  }

  benchmark::Program made_;
  const benchmark::Rank& rank_;
};

}  // namespace

benchmark::Table beside(const benchmark::Table& table, const benchmark::Table& other) {
  if (other.ranks.size() > table.ranks.size()) {
    throw std::invalid_argument{fmt::format("--beside: a program of {} ranks does not fit beside one of {}",
                                            other.ranks.size(), table.ranks.size())};
  }
  benchmark::Table made = table;
  made.programs.clear();
  append(made.groups, other.groups);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;  // of joined programs
  for (std::size_t number = 0; number < made.ranks.size(); ++number) {
    benchmark::Rank& rank = made.ranks[number];
    const bool has_both = number < other.ranks.size();
    const std::uint32_t second = has_both ? other.ranks[number].program : count_of(other.programs);
    const auto [known, is_new] = numbers.try_emplace({rank.program, second}, count_of(made.programs));
    const benchmark::Program& first = table.programs[rank.program];
    if (is_new) {
      made.programs.push_back(has_both ? Joined{first, rank}.with(other.programs[second]) : first);
    }
    if (has_both) {
      const benchmark::Rank& added = other.ranks[number];
      for (const std::uint32_t group : added.groups) {
        rank.groups.push_back(group + count_of(table.groups));
      }
      for (const std::uint32_t kernel : added.kernel_slots) {
        rank.kernel_slots.push_back(kernel + count_of(first.kernels));
      }
      for (const std::uint32_t call : added.collective_slots) {
        rank.collective_slots.push_back(call + count_of(first.collectives));
      }
    }
    rank.program = known->second;
  }
  return made;
}

}  // namespace lockstep::generate
