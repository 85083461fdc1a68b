#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/sharding/cost_model.hpp"
#include "search/sharding/plan.hpp"

namespace lockstep::sharding {

/// A cost model at work on one task: keeps what it said of pieces, and counts the questions. Task and model
/// must outlive it.
class Judge {
 public:
  Judge(const Task& task, const CostModel& model) : task_{&task}, model_{&model} {}

  [[nodiscard]] const Task& task() const { return *task_; }
  [[nodiscard]] const CostModel& model() const { return *model_; }

  [[nodiscard]] const Load& load_of(std::uint32_t table, std::int64_t columns);
  /// Of a device with this piece alone.
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
  Known& known(std::uint32_t table, std::int64_t columns);

  const Task* task_;
  const CostModel* model_;
  std::map<std::pair<std::uint32_t, std::int64_t>, Known> known_;
  std::int64_t questions_ = 0;
};

}  // namespace lockstep::sharding
