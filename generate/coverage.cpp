#include "generate/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lockstep::generate {
namespace {

constexpr std::size_t kMostNamed = 10;

/// Calls @p use with each launched kernel and how often a step launches it, over all ranks.
template <class Use>
void for_each_launch(const Benchmark& benchmark, const Use& use) {
  const Job& job = benchmark.job;
  std::vector<std::uint64_t> ranks(job.programs.size(), 0);
  for (const RankAssignment& rank : job.ranks) {
    ++ranks[rank.program];
    for (const Program::Thread& thread : job.programs[rank.program]->threads) {
      for (const Instruction& instruction : thread.instructions) {
        if (instruction.op == Opcode::Launch && instruction.per_rank) {
          use(benchmark.kernels[rank.program][rank.kernel_slots[instruction.operand]], 1);
        }
      }
    }
  }
  for (std::size_t program = 0; program < job.programs.size(); ++program) {
    for (const Program::Thread& thread : job.programs[program]->threads) {
      for (const Instruction& instruction : thread.instructions) {
        if (instruction.op == Opcode::Launch && !instruction.per_rank && ranks[program] > 0) {
          use(benchmark.kernels[program][instruction.operand], ranks[program]);
        }
      }
    }
  }
}

/// A kernel's name without its type, templates and arguments.
std::string short_name(std::string name) {
  if (name.starts_with("void ")) {
    name.erase(0, 5);
  }
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous)) {
    name.erase(at, kAnonymous.size());
  }
  std::string inner;  // what an element-wise kernel does is its first template argument that is named
  for (const char* mark : {"direct_copy_kernel_cuda", "CUDAFunctor", "_kernel_cuda", "launch_clamp"}) {
    if (const std::size_t at = name.find(mark);
        inner.empty() && at != std::string::npos && name.find('<') < at) {
      const std::size_t begin = name.find_last_of(":, <", at) + 1;
      inner = name.substr(begin, name.find_first_of("<(,", begin) - begin);
    }
  }
  name = name.substr(0, name.find_first_of("<("));
  return inner.empty() ? name : fmt::format("{}<{}>", name, inner);
}

}  // namespace

double Coverage::reproduced() const {
  const auto share = [&](Backend backend) { return by_backend[static_cast<std::size_t>(backend)].seconds; };
  return all.seconds > 0 ? 1 - (share(Backend::Busy) + share(Backend::Skipped)) / all.seconds : 1;
}

Coverage coverage_of(const Benchmark& benchmark) {
  Coverage made;
  std::map<std::pair<std::string, std::string>, CoverageShare> uncovered;
  for_each_launch(benchmark, [&](const BenchmarkKernel& kernel, std::uint64_t times) {
    const auto add = [&](CoverageShare& share) {
      share.launches += times;
      share.seconds += static_cast<double>(times) * kernel.seconds;
    };
    add(made.by_backend[static_cast<std::size_t>(kernel.backend)]);
    add(made.all);
    if (kernel.backend == Backend::Busy || kernel.backend == Backend::Skipped) {
      add(uncovered[{kernel.name, kernel.family}]);
    }
  });
  for (const auto& [name, share] : uncovered) {
    made.uncovered.push_back({name.first, name.second, share});
  }
  std::ranges::stable_sort(made.uncovered, std::ranges::greater{},
                           [](const UncoveredKernels& kernels) { return kernels.share.seconds; });
  return made;
}

Coverage sum_of(const Coverage& a, const Coverage& b) {
  Coverage made = a;
  const auto add = [](CoverageShare& to, const CoverageShare& share) {
    to.launches += share.launches;
    to.seconds += share.seconds;
  };
  for (std::size_t i = 0; i < kBackends.size(); ++i) {
    add(made.by_backend[i], b.by_backend[i]);
  }
  add(made.all, b.all);
  made.uncovered.insert(made.uncovered.end(), b.uncovered.begin(), b.uncovered.end());
  std::ranges::stable_sort(made.uncovered, std::ranges::greater{},
                           [](const UncoveredKernels& kernels) { return kernels.share.seconds; });
  return made;
}

std::vector<double> percentages(const std::vector<double>& parts) {
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<double> made(parts.size(), 0.0);
  if (!(all > 0)) {
    return made;
  }
  constexpr double kTenths = 1000;
  std::vector<std::pair<double, std::size_t>> remainders;
  double left = kTenths;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double exact = kTenths * parts[i] / all;
    made[i] = std::floor(exact);
    left -= made[i];
    remainders.emplace_back(exact - made[i], i);
  }
  std::ranges::stable_sort(remainders, std::ranges::greater{}, &std::pair<double, std::size_t>::first);
  for (std::size_t i = 0; i < remainders.size() && left > 0.5; ++i, --left) {
    ++made[remainders[i].second];
  }
  std::ranges::for_each(made, [](double& tenths) { tenths /= 10; });
  return made;
}

std::string coverage_text(const Coverage& coverage) {
  std::vector<double> launches, seconds;
  for (const CoverageShare& share : coverage.by_backend) {
    launches.push_back(static_cast<double>(share.launches));
    seconds.push_back(share.seconds);
  }
  const std::vector<double> of_launches = percentages(launches), of_seconds = percentages(seconds);
  std::string text =
      fmt::format("{:<12} {:>9} {:>7} {:>12} {:>7}\n", "kernels", "launches", "%", "ms a step", "%");
  for (std::size_t i = 0; i < kBackends.size(); ++i) {
    if (coverage.by_backend[i].launches > 0) {
      text += fmt::format("{:<12} {:>9} {:>7.1f} {:>12.3f} {:>7.1f}\n", kBackends[i],
                          coverage.by_backend[i].launches, of_launches[i],
                          1e3 * coverage.by_backend[i].seconds, of_seconds[i]);
    }
  }
  text += fmt::format("{:<12} {:>9} {:>7.1f} {:>12.3f} {:>7.1f}\n", "all ranks", coverage.all.launches,
                      coverage.all.launches > 0 ? 100.0 : 0.0, 1e3 * coverage.all.seconds,
                      coverage.all.seconds > 0 ? 100.0 : 0.0);
  for (std::size_t i = 0; i < std::min(kMostNamed, coverage.uncovered.size()); ++i) {
    const UncoveredKernels& kernels = coverage.uncovered[i];
    text += fmt::format("{} {} x {}, {:.3f} ms\n", i == 0 ? "not by what they do" : "                   ",
                        kernels.share.launches, short_name(kernels.name), 1e3 * kernels.share.seconds);
  }
  if (coverage.uncovered.size() > kMostNamed) {
    text += fmt::format("                    and {} more kinds (benchmark.json names all)\n",
                        coverage.uncovered.size() - kMostNamed);
  }
  return text;
}

}  // namespace lockstep::generate
