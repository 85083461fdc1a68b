#pragma once

#include "ops/kernel.hpp"

namespace lockstep::generate {

/// Bytes and FLOPs of a kernel, each operand counted once (compulsory traffic).
struct WorkSize {
  double bytes = 0;
  double flops = 0;  ///< a multiply-add counts two
};

/// Bytes and FLOPs of @p call; 0 for work of which only the time is known.
[[nodiscard]] WorkSize size_of(const KernelCall& call);

}  // namespace lockstep::generate
