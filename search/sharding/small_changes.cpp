#include "search/sharding/small_changes.hpp"

#include <algorithm>

namespace lockstep::sharding {
namespace {

// Chosen on tasks of seeds that no table of docs/search.md uses.
constexpr double kFromSlowest = 0.45;  // share of the changes that concern the slowest device
constexpr double kMoves = 0.35;        // shares of the kinds; the rest of cuts are merges
constexpr double kSwaps = 0.5;
constexpr double kCuts = 0.1;

}  // namespace

std::size_t SmallChanges::below(std::size_t count) {
  return std::min(count - 1, static_cast<std::size_t>(next() * static_cast<double>(count)));
}

bool SmallChanges::make(DeviceState& state, std::uint32_t slowest) {
  const auto any_device = [&] { return static_cast<std::uint32_t>(below(state.devices())); };
  const std::uint32_t from = next() < kFromSlowest ? slowest : any_device();
  const std::uint32_t to = any_device();
  const double kind = next();
  if (state.pieces_on(from).empty()) {
    return false;
  }
  const std::size_t piece = below(state.pieces_on(from).size());
  if (kind < kMoves) {
    return state.move(from, piece, to);
  }
  if (kind < kMoves + kSwaps) {
    return from != to && !state.pieces_on(to).empty() &&
           state.swap(from, piece, to, below(state.pieces_on(to).size()));
  }
  if (!may_cut_) {
    return false;
  }
  return kind < kMoves + kSwaps + kCuts ? state.split(from, piece, to) : state.merge(from, piece);
}

}  // namespace lockstep::sharding
