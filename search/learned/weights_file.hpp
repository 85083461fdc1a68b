#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "search/learned/placement_policy.hpp"

namespace lockstep::sharding::learned {

/// A trained policy as JSON: its method, what its numbers mean, and all that was learnt, in single precision.
[[nodiscard]] std::string weights_json(PlacementPolicy& policy);

/// The policy in a file of weights_json().
/// @throws InputError where it cannot be read, is no such file, or its networks are not those of the method
[[nodiscard]] std::unique_ptr<PlacementPolicy> read_weights(const std::filesystem::path& path);

}  // namespace lockstep::sharding::learned
