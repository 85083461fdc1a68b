#include "search/sharding/device_state.hpp"

namespace lockstep::sharding {

DeviceState::DeviceState(CachedCostModel& cost_model, const Plan& plan)
    : cost_model_{&cost_model},
      pieces_(cost_model.task().devices()),
      used_(cost_model.task().devices()),
      widths_(cost_model.task().devices()),
      indices_(cost_model.task().devices()),
      compute_(cost_model.task().devices()),
      changed_(cost_model.task().devices(), true) {
  for (const Piece& piece : plan.pieces) {
    put(piece.device, piece);
  }
  judge_again();
}

std::uint32_t DeviceState::slowest() const {
  std::uint32_t slowest = 0;
  const auto time = [&](std::uint32_t device) {
    return estimate_.compute[device] + estimate_.communication[device];
  };
  for (std::uint32_t device = 1; device < devices(); ++device) {
    if (time(device) > time(slowest)) slowest = device;
  }
  return slowest;
}

Plan DeviceState::plan() const {
  Plan plan;
  for (const auto& pieces : pieces_) {
    plan.pieces.insert(plan.pieces.end(), pieces.begin(), pieces.end());
  }
  std::ranges::stable_sort(plan.pieces, {}, &Piece::table);
  return plan;
}

void DeviceState::put(std::uint32_t device, Piece piece) {
  piece.device = device;
  used_[device] += size_of(piece);
  widths_[device] += static_cast<double>(piece.columns);
  indices_[device] += cost_model_->task().indices_of(piece.table);
  changed_[device] = true;
  pieces_[device].push_back(piece);
}

Piece DeviceState::take(std::uint32_t device, std::size_t position) {
  std::vector<Piece>& pieces = pieces_[device];
  const Piece piece = pieces[position];
  pieces[position] = pieces.back();
  pieces.pop_back();
  used_[device] -= size_of(piece);
  widths_[device] -= static_cast<double>(piece.columns);
  indices_[device] -= cost_model_->task().indices_of(piece.table);
  changed_[device] = true;
  return piece;
}

bool DeviceState::move(std::uint32_t from, std::size_t position, std::uint32_t to) {
  if (from == to || !has_room(to, size_of(pieces_[from][position]))) {
    return false;
  }
  put(to, take(from, position));
  return true;
}

bool DeviceState::swap(std::uint32_t a, std::size_t position_a, std::uint32_t b, std::size_t position_b) {
  const Piece of_a = pieces_[a][position_a];
  const Piece of_b = pieces_[b][position_b];
  const bool alike = of_a.table == of_b.table && of_a.columns == of_b.columns;
  if (a == b || alike || !has_room(a, size_of(of_b) - size_of(of_a)) ||
      !has_room(b, size_of(of_a) - size_of(of_b))) {
    return false;
  }
  put(b, take(a, position_a));
  pieces_[b].back().device = b;
  put(a, take(b, position_b));
  return true;
}

bool DeviceState::split(std::uint32_t from, std::size_t position, std::uint32_t to) {
  Piece piece = pieces_[from][position];
  if (from == to || !cost_model_->task().can_halve(piece.columns) || !has_room(to, 0.5 * size_of(piece))) {
    return false;
  }
  piece = take(from, position);
  piece.columns /= 2;
  put(from, piece);
  put(to, piece);
  return true;
}

bool DeviceState::merge(std::uint32_t device, std::size_t position) {
  std::vector<Piece>& pieces = pieces_[device];
  for (std::size_t other = 0; other < pieces.size(); ++other) {
    const bool equal =
        pieces[other].table == pieces[position].table && pieces[other].columns == pieces[position].columns;
    if (other == position || !equal) {
      continue;
    }
    Piece piece = take(device, std::max(position, other));
    (void)take(device, std::min(position, other));
    piece.columns *= 2;
    put(device, piece);
    return true;
  }
  return false;
}

Seconds DeviceState::judge_again() {
  for (std::uint32_t device = 0; device < devices(); ++device) {
    if (!changed_[device]) {
      continue;
    }
    Load load;
    for (const Piece& piece : pieces_[device]) {
      load.add(cost_model_->load_of(piece));
    }
    compute_[device] = cost_model_->compute(load);
    changed_[device] = false;
  }
  estimate_ = cost_model_->estimate(compute_, widths_, indices_);
  return estimate_.total;
}

}  // namespace lockstep::sharding
