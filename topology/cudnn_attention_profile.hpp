#pragma once

namespace lockstep {

/// cuDNN's attention on a GPU for which it has kernels of their own (ops/kernels/attention.hpp has the
/// equation).
struct CudnnAttentionProfile {
  double forward = 0.7;       ///< of the tensor peak: heads of 128, long sequences
  double backward = 0.6;      ///< likewise
  double forward_once = 120;  ///< what a tile does once, as if it had so many columns more
  double backward_once = 355;
  double masked = 0.92;  ///< of the rate that is left with a mask
  int rows = 128;        ///< queries (backward: keys) of a tile

  template <class Visitor>
  static void describe(Visitor& key, CudnnAttentionProfile& of) {
    key.required("forward", of.forward, "of the tensor peak: forward, heads of 128, long sequences");
    key.required("backward", of.backward, "of the tensor peak: backward, likewise");
    key.required("forward_once", of.forward_once, "what a tile does once, as if it had so many keys more");
    key.required("backward_once", of.backward_once, "likewise backward");
    key.required("masked", of.masked, "of the rate that is left with a mask");
    key.required("rows", of.rows, "queries (backward: keys) of a tile, e.g. 256");
  }
  /// @throws FieldError for a part outside ]0, 1], a negative `once`, rows below 1
  void check() const;
};

}  // namespace lockstep
