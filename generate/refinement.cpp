#include "generate/refinement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lockstep::generate {
namespace {

constexpr double kBusyTolerance = 0.01, kTolerance = 0.1;

/// Mean seconds of a program's kernel over the ranks that measured it; below 0: nobody launched it.
double mean_time(const benchmark::Table& table, const std::vector<MeasuredRank>& measured,
                 std::uint32_t program, std::size_t kernel) {
  double sum = 0;
  int count = 0;
  for (const MeasuredRank& rank : measured) {
    if (table.ranks[rank.rank].program == program && rank.kernels[kernel] >= 0) {
      sum += rank.kernels[kernel];
      ++count;
    }
  }
  return count > 0 ? sum / count : -1;
}

void expect_same_program(const benchmark::Table& table, const std::vector<MeasuredRank>& measured) {
  for (const MeasuredRank& rank : measured) {
    const std::size_t kernels =
        rank.rank < table.ranks.size() ? table.programs[table.ranks[rank.rank].program].kernels.size() : 0;
    if (rank.kernels.size() != kernels) {
      throw std::invalid_argument{fmt::format(
          "--refine: rank {} measured {} kernels, and has {} in this program; give the source and "
          "options of the program that was measured",
          rank.rank, rank.kernels.size(), kernels)};
    }
  }
}

}  // namespace

std::vector<RefinedKernel> refine(benchmark::Table& table, const std::vector<MeasuredRank>& measured) {
  expect_same_program(table, measured);
  std::vector<RefinedKernel> made;
  for (std::uint32_t program = 0; program < table.programs.size(); ++program) {
    std::vector<benchmark::Kernel>& kernels = table.programs[program].kernels;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      benchmark::Kernel& kernel = kernels[i];
      const double time = mean_time(table, measured, program, i);
      const double tolerance = kernel.backend == "busy" ? kBusyTolerance : kTolerance;
      const double off = kernel.seconds - time;
      if (time < 0 || !(kernel.seconds > 0) || std::abs(off) <= tolerance * kernel.seconds) {
        continue;
      }
      const bool is_too_slow = off < 0 && kernel.backend != "busy" && kernel.delay + off < 0;
      made.push_back({program, i, kernel.name, kernel.backend, kernel.seconds, time, is_too_slow});
      kernel.delay = kernel.backend == "busy" ? kernel.delay + off : std::max(kernel.delay + off, 0.0);
    }
  }
  return made;
}

}  // namespace lockstep::generate
