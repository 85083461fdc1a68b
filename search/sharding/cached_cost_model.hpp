#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "search/sharding/cost_model.hpp"
#include "search/sharding/plan.hpp"

namespace lockstep::sharding {

/// A cost model at work on one task: keeps what it said of pieces, and counts the questions. Task and model
/// must outlive it.
class CachedCostModel {
 public:
  CachedCostModel(const Task& task, const CostModel& model);

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] const CostModel& model() const { return *model_; }

  [[nodiscard]] std::uint32_t kind_of(std::uint32_t device) const { return kinds_[device]; }
  /// Devices that take tables are of several kinds.
  [[nodiscard]] bool has_unlike_devices() const { return kinds_of_places_.size() > 1; }

  [[nodiscard]] const Load& load_of(const Piece& piece) { return known(piece, kinds_[piece.device]).load; }
  /// Time of a device with this piece alone, of the kind that finishes it first.
  [[nodiscard]] Seconds alone(std::uint32_t table, std::int64_t columns);
  [[nodiscard]] Seconds compute(const Load& load);
  [[nodiscard]] Estimate estimate(std::span<const Seconds> compute, std::span<const double> widths,
                                  std::span<const double> indices);
  [[nodiscard]] Estimate estimate(const Plan& plan);

  [[nodiscard]] std::int64_t questions() const { return questions_; }

 private:
  struct Known {
    Load load;
    std::optional<Seconds> alone;
  };
  Known& known(const Piece& piece, std::uint32_t kind);

  const Task* task_;
  const CostModel* model_;
  std::vector<std::uint32_t> kinds_;                                               // by device
  std::vector<std::uint32_t> kinds_of_places_;                                     // each once
  std::map<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>, Known> known_;  // table, columns, kind
  std::int64_t questions_ = 0;
};

}  // namespace lockstep::sharding
