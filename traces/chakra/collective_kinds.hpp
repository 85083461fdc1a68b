#pragma once

#include <optional>

#include "ops/collectives/collective.hpp"

namespace lockstep::chakra {

/// CollectiveCommType of the schema, by its number; nothing where no collective of ours is meant.
[[nodiscard]] std::optional<CollectiveKind> collective_kind(double comm_type);

}  // namespace lockstep::chakra
