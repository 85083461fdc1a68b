#pragma once

#include "ops/workload/compiled/compiled_shape.hpp"

namespace lockstep {

/// The residual stream of blocks that normalise first, forward: it is no tensor but a sum that each norm
/// recomputes, until that sum reads more than four buffers.
class ResidualStream {
 public:
  explicit ResidualStream(const CompiledShape& shape) : shape_{shape} {}

  /// It has been written: one tensor in one buffer.
  void written() { start(1, 1); }
  /// It is the sum of two rows of tables: @p tensors are read for it.
  void looked_up(double tensors) { start(tensors, kTokensAndTwoTables); }
  /// A layer's result is to be added.
  void add() {
    ++added_;
    drops_last_ = shape_.spec.dropout;
  }

  struct Traffic {
    double reads, writes;  ///< in tensors of the model's type
  };
  /// A norm reads the sum. It writes its result for the product and, for backward, the normalised input; the
  /// stream too where it depends on too many buffers: a layer's result is one, its bias or mask another.
  [[nodiscard]] Traffic normalised();

 private:
  static constexpr int kTokensAndTwoTables = 3;

  void start(double tensors, int buffers) {
    tensors_ = tensors;
    buffers_ = buffers;
    added_ = 0;
  }

  const CompiledShape& shape_;
  double tensors_ = 1;  ///< that hold it
  int buffers_ = 1;
  int added_ = 0;            ///< results of layers that are not in them
  bool drops_last_ = false;  ///< the dropout of the last of these has not been drawn yet
};

}  // namespace lockstep
