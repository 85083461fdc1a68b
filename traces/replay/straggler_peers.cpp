#include "traces/replay/straggler_peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace lockstep::replay {
namespace {

std::size_t checked(int rank, std::size_t ranks, const char* key) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks) {
    throw std::invalid_argument{
        fmt::format("what_if.{}: there is no rank {}: traces of {} ranks were given", key, rank, ranks)};
  }
  return static_cast<std::size_t>(rank);
}

}  // namespace

StragglerPeers::StragglerPeers(std::size_t programs, const WhatIfSpec& edit)
    : edit_{edit.stragglers}, cured_(programs, edit.straggler_ranks.empty()) {
  for (const int rank : edit.straggler_ranks) {
    cured_[checked(rank, programs, "straggler_ranks")] = true;
  }
  std::vector<bool> seen(programs, false);
  for (const std::vector<int>& stage : edit.straggler_stages) {
    auto& made = stages_.emplace_back();
    for (const int rank : stage) {
      made.push_back(checked(rank, programs, "straggler_stages"));
      if (seen[made.back()]) {
        throw std::invalid_argument{fmt::format("what_if.straggler_stages: rank {} is named twice", rank)};
      }
      seen[made.back()] = true;
    }
  }
  if (stages_.empty()) {
    stages_.emplace_back(programs);
    std::iota(stages_.back().begin(), stages_.back().end(), std::size_t{0});
  }
}

double StragglerPeers::typical(std::vector<double> times) const {
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  if (edit_ == StragglerEdit::Fastest) {
    return times.front();
  }
  return times.size() % 2 == 1 ? times[half] : 0.5 * (times[half - 1] + times[half]);
}

}  // namespace lockstep::replay
