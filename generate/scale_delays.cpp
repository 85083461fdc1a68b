#include "generate/scale_delays.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "generate/meetings.hpp"

namespace lockstep::generate {
namespace {

/// Seconds of the small job's collectives and copies by themselves.
struct OwnTimes {
  using ByRank = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;  // by rank and number
  ByRank collectives;  ///< the shortest once all have arrived
  ByRank kernels;      ///< the longest
};

bool is_alone(const Job& job, std::uint32_t rank, const CollectiveCall& call) {
  return job.groups[job.ranks[rank].groups[call.group]].ranks.size() == 1;
}

/// The small job with collectives and copies as its machine does them. Rank r has program r.
Job without_waits(const Benchmark& small) {
  Job job = small.job;
  for (std::size_t number = 0; number < job.programs.size(); ++number) {
    Program without = *job.programs[number];
    for (CollectiveCall& call : without.collectives) {
      if (!is_alone(job, static_cast<std::uint32_t>(number), call)) {
        call.recorded = std::nullopt;
      }
    }
    for (std::size_t i = 0; i < without.kernels.size(); ++i) {
      const std::vector<KernelCall>& calls = small.kernels[number][i].calls;
      if (calls.size() == 1 && std::holds_alternative<Memcpy>(calls.front().work)) {
        without.kernels[i] = calls.front();
      }
    }
    job.programs[number] = std::make_shared<const Program>(std::move(without));
  }
  return job;
}

OwnTimes own_times(const Benchmark& small, const Machine& machine) {
  const Job job = without_waits(small);
  OwnTimes made;
  MeetingRecorder meetings{job.steps};
  static_cast<void>(machine.simulate(job, &meetings));
  std::vector<std::uint32_t> ranks(job.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const Transfers transfers{job, ranks, meetings};
  for (const std::uint32_t rank : ranks) {
    const Program& program = *small.job.programs[rank];
    for (std::uint32_t thread = 0; thread < program.threads.size(); ++thread) {
      const auto& code = program.threads[thread].instructions;
      for (std::uint32_t at = 0; at < code.size(); ++at) {
        const bool is_launch = code[at].op == Opcode::Launch && !code[at].per_rank;
        if (code[at].op != Opcode::Collective && !is_launch) {
          continue;
        }
        const Place place{rank, thread, at};
        const Meeting& meeting = meetings.at(place);
        const double took = is_launch ? meeting.ended - meeting.arrived : transfers.at(place);
        auto& times = is_launch ? made.kernels : made.collectives;
        double& known = times.try_emplace({rank, code[at].operand}, took).first->second;
        known = is_launch ? std::max(known, took) : std::min(known, took);
      }
    }
  }
  return made;
}

/// Copies that are slowed by ranks that are missing rest for the difference.
void add_copy_delays(Benchmark& small, const OwnTimes& times) {
  for (std::uint32_t rank = 0; rank < small.job.ranks.size(); ++rank) {
    const Program& program = *small.job.programs[rank];
    for (std::uint32_t number = 0; number < program.kernels.size(); ++number) {
      BenchmarkKernel& kernel = small.kernels[rank][number];
      const auto own = times.kernels.find({rank, number});
      const bool is_slowed = std::holds_alternative<Timed>(program.kernels[number].work) &&
                             kernel.calls.size() == 1 &&
                             std::holds_alternative<Memcpy>(kernel.calls.front().work);
      if (is_slowed && own != times.kernels.end()) {
        kernel.delay = std::max(kernel.seconds - own->second, 0.0);
      }
    }
  }
}

}  // namespace

void add_delays(Benchmark& small, const Machine& machine, bool was_recorded) {
  const OwnTimes times = was_recorded ? OwnTimes{} : own_times(small, machine);
  add_copy_delays(small, times);
  for (std::uint32_t rank = 0; rank < small.job.ranks.size(); ++rank) {
    const Program& program = *small.job.programs[rank];
    std::vector<double> delays;
    for (std::uint32_t call = 0; call < program.collectives.size(); ++call) {
      const auto& recorded = program.collectives[call].recorded;
      const bool is_by_itself = is_alone(small.job, rank, program.collectives[call]);
      const auto known = times.collectives.find({rank, call});
      const double own = is_by_itself || known == times.collectives.end() ? 0 : known->second;
      const bool is_delayed = recorded && (is_by_itself || !was_recorded);
      delays.push_back(is_delayed ? std::max(recorded->in_base_units() - own, 0.0) : 0.0);
    }
    small.delays.push_back(std::move(delays));
  }
}

}  // namespace lockstep::generate
