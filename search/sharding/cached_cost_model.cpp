#include "search/sharding/cached_cost_model.hpp"

#include <algorithm>

namespace lockstep::sharding {

CachedCostModel::CachedCostModel(const Task& task, const CostModel& model) : task_{&task}, model_{&model} {
  for (std::uint32_t device = 0; device < task.devices(); ++device) {
    kinds_.push_back(model.kind_of(device));
  }
  for (const std::uint32_t device : task.places()) {
    if (std::ranges::find(kinds_of_places_, kinds_[device]) == kinds_of_places_.end()) {
      kinds_of_places_.push_back(kinds_[device]);
    }
  }
  if (kinds_of_places_.empty()) {  // nothing fits, but tables still can be put in order
    kinds_of_places_.push_back(model.kind_of(0));
  }
}

CachedCostModel::Known& CachedCostModel::known(const Piece& piece, std::uint32_t kind) {
  const auto [entry, fresh] = known_.try_emplace({piece.table, piece.columns, kind});
  if (fresh) {
    entry->second.load = model_->load_of(task_->tables[piece.table], piece.columns, kind);
  }
  return entry->second;
}

Seconds CachedCostModel::alone(std::uint32_t table, std::int64_t columns) {
  std::optional<Seconds> least;
  for (const std::uint32_t kind : kinds_of_places_) {
    Known& piece = known({table, columns}, kind);
    if (!piece.alone) {
      piece.alone = compute(piece.load);
    }
    least = least ? std::min(*least, *piece.alone) : *piece.alone;
  }
  return *least;
}

Seconds CachedCostModel::compute(const Load& load) {
  ++questions_;
  return model_->compute(load);
}

Estimate CachedCostModel::estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                   std::span<const double> indices) {
  ++questions_;
  return model_->estimate(compute, widths, indices);
}

Estimate CachedCostModel::estimate(const Plan& plan) {
  std::vector<Load> loads(task_->devices());
  for (const Piece& piece : plan.pieces) {
    loads[piece.device].add(load_of(piece));
  }
  std::vector<Seconds> times;
  for (const Load& load : loads) {
    times.push_back(compute(load));
  }
  return estimate(times, widths_of(plan, *task_), indices_of(plan, *task_));
}

}  // namespace lockstep::sharding
