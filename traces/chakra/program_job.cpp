#include "traces/chakra/program_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "ops/call_hash.hpp"
#include "traces/chakra/process_groups.hpp"
#include "traces/chakra/program_reader.hpp"
#include "traces/chakra/trace_files.hpp"

namespace lockstep::chakra {
namespace {

bool same_code(const Program::Thread& a, const Program::Thread& b) {
  constexpr auto kSame = [](const Instruction& x, const Instruction& y) {
    return x.op == y.op && x.stream == y.stream && x.operand == y.operand && x.lead == y.lead &&
           x.cost == y.cost;
  };
  return a.name == b.name && std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(),
                                        b.instructions.end(), kSame);
}

bool same_program(const Program& a, const Program& b) {
  return a.streams == b.streams && a.groups == b.groups && a.names == b.names && a.kernels == b.kernels &&
         a.collectives == b.collectives && a.events == b.events && a.carried_events == b.carried_events &&
         a.flags == b.flags &&
         std::equal(a.threads.begin(), a.threads.end(), b.threads.begin(), b.threads.end(), same_code);
}

/// Equal Programs have equal ones.
std::size_t digest(const Program& program) {
  constexpr std::size_t kPrime = 0x100000001b3ULL;  // FNV-1a, a number at a time
  std::size_t hash = 0;
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * kPrime; };
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      mix(static_cast<std::size_t>(instruction.op) << 32U | instruction.operand);
    }
  }
  for (const KernelCall& kernel : program.kernels) {
    mix(hash_of(kernel));
  }
  return hash;
}

class ProgramJobReader {
 public:
  ProgramJobReader(TraceFiles files, ProcessGroups groups)
      : files_{std::move(files)}, process_groups_{std::move(groups)} {}

  Job read(std::span<const VertexId> gpus) && {
    for (std::uint32_t rank = 0; rank < files_.ranks(); ++rank) {
      RankAssignment assignment;
      if (const auto same = files_.same_as(rank)) {
        assignment = job_.ranks[*same];
      } else {
        RankProgram read = read_program(files_.path(rank));
        for (std::size_t i = 0; i < read.pg_names.size(); ++i) {
          assignment.groups.push_back(group(rank, read.pg_names[i], read.group_names[i]));
        }
        const std::size_t shared = read.is_shared ? read.program.groups.size() : 0;
        assignment.program = number_of(std::move(read.program));
        shared_groups_.resize(job_.programs.size());
        shared_groups_[assignment.program] = shared;
      }
      if (const std::size_t count = shared_groups_[assignment.program]; count > 0) {
        assignment.groups = groups_of(rank, count);
      }
      assignment.gpu = gpus[rank];
      expect_member(rank, assignment.groups);
      job_.ranks.push_back(std::move(assignment));
    }
    order_groups();
    return std::move(job_);
  }

 private:
  std::uint32_t number_of(Program program) {
    const std::size_t hash = digest(program);
    const auto [begin, end] = by_digest_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      if (same_program(*job_.programs[known->second], program)) {
        return known->second;
      }
    }
    const auto number = static_cast<std::uint32_t>(job_.programs.size());
    by_digest_.emplace(hash, number);
    job_.programs.push_back(std::make_shared<const Program>(std::move(program)));
    return number;
  }

  /// Groups of a rank whose trace is shared.
  std::vector<std::uint32_t> groups_of(std::uint32_t rank, std::size_t count) {
    std::vector<std::uint32_t> groups;
    try {
      for (const std::uint32_t number : process_groups_.of_rank(rank, count)) {
        groups.push_back(group(rank, fmt::format("{}", number), process_groups_.name_of(number)));
      }
    } catch (const std::invalid_argument& problem) {
      throw InputError{{files_.path(rank).string()}, problem.what()};
    }
    return groups;
  }

  std::uint32_t group(std::uint32_t rank, const std::string& pg_name, const std::string& name) {
    const auto [entry, fresh] = numbers_.try_emplace(pg_name, static_cast<std::uint32_t>(job_.groups.size()));
    if (!fresh) {
      return entry->second;
    }
    const auto* const ranks = process_groups_.find(pg_name);
    if (ranks == nullptr) {
      throw InputError{{files_.path(rank).string()},
                       fmt::format("process group '{}' (pg_name '{}') is not in the file of process groups: "
                                   "trace: {{ groups: FILE }}",
                                   name, pg_name)};
    }
    job_.groups.push_back({name, *ranks});
    return entry->second;
  }

  /// Groups by pg_name, numbers as such: the order that they had when the traces were written.
  void order_groups() {
    std::vector<const std::string*> names(job_.groups.size());
    for (const auto& [name, number] : numbers_) {
      names[number] = &name;
    }
    std::vector<std::uint32_t> order(names.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair{names[a]->size(), *names[a]} < std::pair{names[b]->size(), *names[b]};
    });
    std::vector<std::uint32_t> place(order.size());
    std::vector<ProcessGroup> groups;
    for (const std::uint32_t number : order) {
      place[number] = static_cast<std::uint32_t>(groups.size());
      groups.push_back(std::move(job_.groups[number]));
    }
    job_.groups = std::move(groups);
    for (RankAssignment& rank : job_.ranks) {
      for (std::uint32_t& group : rank.groups) {
        group = place[group];
      }
    }
  }

  void expect_member(std::uint32_t rank, const std::vector<std::uint32_t>& groups) const {
    for (const std::uint32_t group : groups) {
      const auto& ranks = job_.groups[group].ranks;
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
        throw InputError{{files_.path(rank).string()},
                         fmt::format("rank {} uses process group '{}' without being a member", rank,
                                     job_.groups[group].name)};
      }
    }
  }

  TraceFiles files_;
  ProcessGroups process_groups_;
  std::map<std::string, std::uint32_t> numbers_;  // of groups, by pg_name
  std::vector<std::size_t> shared_groups_;        // by program: how many; 0: its trace names them
  std::unordered_multimap<std::size_t, std::uint32_t> by_digest_;
  Job job_;
};

}  // namespace

Job program_job(const ChakraSpec& spec, const std::filesystem::path& folder, std::span<const VertexId> gpus) {
  const std::size_t ranks = spec.ranks ? static_cast<std::size_t>(*spec.ranks) : gpus.size();
  if (ranks > gpus.size()) {
    throw std::invalid_argument{
        fmt::format("{} ranks were asked for, the cluster has {} GPUs", ranks, gpus.size())};
  }
  const auto count = static_cast<std::uint32_t>(ranks);
  ProcessGroups groups;
  if (spec.groups) {
    groups = ProcessGroups::from_file(folder / *spec.groups, count);
  }
  Job job = ProgramJobReader{{(folder / spec.chakra).string(), count}, std::move(groups)}.read(gpus);
  job.steps = spec.repeats;
  return job;
}

}  // namespace lockstep::chakra
