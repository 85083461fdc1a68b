#pragma once

#include <cstddef>

#include "ops/collectives/collective.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Equal calls have equal hashes. Not stable across runs: for interning only.
[[nodiscard]] std::size_t hash_of(const KernelCall& call);
[[nodiscard]] std::size_t hash_of(const CollectiveCall& call);

}  // namespace lockstep
