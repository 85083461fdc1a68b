#pragma once

/// @file
/// Operands of the launch that a host thread makes now: the places that its kernel reads and writes in the
/// planned memory.

#include <cstdint>
#include <vector>

namespace benchmark {

struct OperandPlace {
  char* address = nullptr;
  std::int64_t bytes = 0;
};

struct Operands {
  std::vector<OperandPlace> reads, writes;
  [[nodiscard]] bool empty() const { return reads.empty() && writes.empty(); }
};

/// While it lives, kernels that this thread launches take @p operands; each place serves once.
class BoundOperands {
 public:
  explicit BoundOperands(const Operands& operands);
  BoundOperands(const BoundOperands&) = delete;
  BoundOperands& operator=(const BoundOperands&) = delete;
  ~BoundOperands();

  /// The smallest place of @p bytes or more that nobody has taken; null: there is none.
  [[nodiscard]] static char* take(bool writes, std::int64_t bytes);
};

}  // namespace benchmark
