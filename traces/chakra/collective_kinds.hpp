#pragma once

#include <cstdint>
#include <optional>

#include "ops/collectives/collective.hpp"

namespace lockstep::chakra {

/// CollectiveCommType of the schema, by its number; nothing where no collective of ours is meant.
[[nodiscard]] std::optional<CollectiveKind> collective_kind(double comm_type);

/// The other way. @throws std::logic_error for a message, which is a node of another type
[[nodiscard]] std::int64_t comm_type_of(CollectiveKind kind);

}  // namespace lockstep::chakra
