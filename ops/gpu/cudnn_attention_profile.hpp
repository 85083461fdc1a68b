#pragma once

namespace lockstep {

/// cuDNN's attention on a GPU for which it has kernels of their own (ops/kernels/attention.hpp has the
/// equation).
struct CudnnAttentionProfile {
  double forward = 0.7;       ///< of the tensor peak: heads of 128, long sequences
  double backward = 0.6;      ///< likewise
  double forward_once = 120;  ///< what a tile does once, as if it had so many columns more
  double backward_once = 355;
  double masked = 0.92;                 ///< of the rate that is left with a mask
  int rows = 128;                       ///< queries (backward: keys) of a tile
  double forward_exponentials = 0.456;  ///< of a tile's time at heads of 128, which narrow ones have as well
  double backward_exponentials = 0.181;
  bool flash_3 = false;  ///< whether FlashAttention-3's kernels, made for Hopper, run here

  template <class Visitor>
  static void describe(Visitor& key, CudnnAttentionProfile& of) {
    key.required("forward", of.forward, "of the tensor peak: forward, heads of 128, long sequences");
    key.required("backward", of.backward, "of the tensor peak: backward, likewise");
    key.required("forward_once", of.forward_once, "what a tile does once, as if it had so many keys more");
    key.required("backward_once", of.backward_once, "likewise backward");
    key.required("masked", of.masked, "of the rate that is left with a mask");
    key.required("rows", of.rows, "queries (backward: keys) of a tile, e.g. 256");
    key.optional("forward_exponentials", of.forward_exponentials, 0.456,
                 "part of a tile's time at heads of 128, which narrow heads have as well");
    key.optional("backward_exponentials", of.backward_exponentials, 0.181, "likewise backward");
    key.optional("flash_3", of.flash_3, false, "whether FlashAttention-3's kernels run here (Hopper)");
  }
  /// @throws FieldError for a part outside ]0, 1] (exponentials [0, 1[), a negative `once`, rows below 1
  void check() const;
};

}  // namespace lockstep
