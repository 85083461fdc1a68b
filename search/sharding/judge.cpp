#include "search/sharding/judge.hpp"

namespace lockstep::sharding {

Judge::Known& Judge::known(std::uint32_t table, std::int64_t columns) {
  const auto [entry, fresh] = known_.try_emplace({table, columns});
  if (fresh) {
    entry->second.load = model_->load_of(task_->tables[table], columns);
  }
  return entry->second;
}

const Load& Judge::load_of(std::uint32_t table, std::int64_t columns) {
  return known(table, columns).load;
}

Seconds Judge::alone(std::uint32_t table, std::int64_t columns) {
  Known& piece = known(table, columns);
  if (!piece.alone) {
    piece.alone = compute(piece.load);
  }
  return *piece.alone;
}

Seconds Judge::compute(const Load& load) {
  ++questions_;
  return model_->compute(load);
}

Estimate Judge::estimate(std::span<const Seconds> compute, std::span<const double> widths,
                         std::span<const double> indices) {
  ++questions_;
  return model_->estimate(compute, widths, indices);
}

Estimate Judge::estimate(const Plan& plan) {
  std::vector<Load> loads(task_->devices());
  for (const Piece& piece : plan.pieces) {
    loads[piece.device].add(load_of(piece.table, piece.columns));
  }
  std::vector<Seconds> times;
  for (const Load& load : loads) {
    times.push_back(compute(load));
  }
  return estimate(times, widths_of(plan, *task_), indices_of(plan, *task_));
}

}  // namespace lockstep::sharding
