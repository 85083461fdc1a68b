#pragma once

/// @file
/// Ways to search, each a function and a row of one table.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "search/sharding/cached_cost_model.hpp"

namespace lockstep::sharding {

namespace learned {
class PlacementPolicy;
}

struct SearchOptions {
  std::uint64_t seed = 1;
  /// Questions that a method which could go on for ever may ask its cost model.
  std::int64_t effort = 100'000;
  bool may_cut = true;  ///< false: Lockstep's own search places whole tables
  /// Asked now and then: whether to stop with the best so far.
  std::function<bool()> stopped = [] { return false; };
  /// The policy of a method that learns. Without one it is trained first, on tasks like the judge's.
  std::shared_ptr<const learned::PlacementPolicy> policy = nullptr;
};

/// @return a plan that fits; nothing where the method finds none
using Search = std::optional<Plan> (*)(CachedCostModel& cost_model, const SearchOptions& options);

struct Method {
  std::string_view name;
  std::string_view meaning;
  Search search;
};

/// All methods that need no training, the simplest first.
[[nodiscard]] std::span<const Method> methods();

/// Methods that learn before they search, which takes seconds (search/learned).
[[nodiscard]] std::span<const Method> learned_methods();

/// The method of this name, of all. @throws std::invalid_argument for an unknown name, with the known ones
[[nodiscard]] const Method& method_called(std::string_view name);

}  // namespace lockstep::sharding
