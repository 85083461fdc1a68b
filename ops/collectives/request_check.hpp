#pragma once

#include <cstddef>
#include <string>

#include "ops/collectives/collective_plan.hpp"

namespace lockstep {

/// @throws std::invalid_argument always: the kind, and what is wrong
[[noreturn]] void reject_request(CollectiveKind kind, const std::string& what);

/// @throws std::invalid_argument when @p request does not fit a group of @p members: its root, source, bytes,
///   or a negative size
void check_request(const CollectiveRequest& request, std::size_t members);

/// The request as the algorithms see it: a barrier is a small all-reduce; an uneven all-to-all progresses by
/// the mean bytes a member sends.
[[nodiscard]] CollectiveRequest normalised(CollectiveRequest request, std::size_t members);

}  // namespace lockstep
