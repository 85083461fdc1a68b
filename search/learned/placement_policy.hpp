#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "search/learned/parameter.hpp"
#include "search/learned/table_features.hpp"
#include "search/sharding/plan.hpp"

namespace lockstep::sharding::learned {

/// Units and scales of the networks' numbers.
struct PolicyScale {
  FeatureScale features;
  Seconds unit{1};             ///< of predicted costs: the mean cost of a device under random plans
  std::int64_t batch = 65536;  ///< of the training tasks
};

/// A trained way to place tables: asks nobody what a plan costs.
class PlacementPolicy {
 public:
  explicit PlacementPolicy(const PolicyScale& scale) : scale_{scale} {}
  PlacementPolicy(const PlacementPolicy&) = delete;  // parameters() are told by their place
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;
  virtual ~PlacementPolicy() = default;

  /// The search method that it belongs to.
  [[nodiscard]] virtual std::string_view method() const = 0;
  /// Whole tables, each to the likeliest device among those with memory for it. @return nothing where a table
  /// finds no room
  [[nodiscard]] virtual std::optional<Plan> place(const Task& task) const = 0;
  /// All that was learnt.
  [[nodiscard]] virtual std::vector<NamedParameter> parameters() = 0;

  [[nodiscard]] const PolicyScale& scale() const { return scale_; }

 protected:
  [[nodiscard]] Matrix features_of(const Task& task) const {
    return scaled(raw_features(task), scale_.features);
  }

 private:
  PolicyScale scale_;
};

}  // namespace lockstep::sharding::learned
