#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "ops/memory.hpp"
#include "ops/workload/precision.hpp"
#include "ops/workload/tensor_sizes.hpp"
#include "ops/workload/xlnet_spec.hpp"

namespace lockstep {

/// Device memory that Hugging Face's XLNet keeps from forward for backward, operator by operator as PyTorch's
/// autograd saves it (tools/autograd/derivatives.yaml). With N = tokens x hidden, F = tokens x feed_forward,
/// S = batch x heads x sequence^2, G = 2 x batch x sequence^2, W = hidden^2, z bytes an element of products
/// (16 bits 2, else 4), w of the model (TensorTypes::model()):
///
///   projections    z N of the input (autocast: thrice), z (N, N, 2 N) of keys, values, distances; where the
///                  model's distances (4 x 2 N, once) are no operand as they are, z 2 N of a cast
///   queries        z N for each term: plus its bias
///   segments       z G: the one-hot in bmm's order (the model's own, w G once, where one sample needs no
///                  copy)
///   scores         softmax w S, mask 1 S, z S what the second product reads (only one of softmax and that
///                  without dropout in FP32)
///   output         z N of the result, z W of the weight, both in another order; mask 1 N; norm w N
///   feed-forward   z N, GELU z F, mask 1 F, z F what the second product reads; mask 1 N; norm w N
///   head           mask 1 N, z N, z logits, their log-softmax in FP32
///   autocast       casts of weights: of attention's a product keeps them (z 4 W and z 2 hidden), as it is
///                  given views, which autocast does not cache; the others (z 2 x hidden x feed_forward)
///                  autocast does
///
/// A product whose first operand needs no gradient does not keep its second: queries' scores of segments.
/// *Assumes* that masks, one-hots and distances of the model, which live until the layers' forward ends, do
/// until backward does; that views keep nothing beyond their base and that indices and masks of tokens are
/// negligible.
class XlnetMemory : TensorSizes {
 public:
  XlnetMemory(const XlnetSpec& spec, std::int64_t batch, TensorTypes types);

  /// Tensors that every layer uses, and those from before the first.
  [[nodiscard]] Tensors kept_by_embeddings() const;
  [[nodiscard]] Tensors kept_by_layer() const;
  [[nodiscard]] Tensors cast_weights_of_layer() const;  ///< those that autocast caches
  /// The input of an evaluation's layer, which it returns (use_mems_eval).
  [[nodiscard]] Tensors cached_by_layer() const;

  [[nodiscard]] Tensors kept_by_head() const;
  [[nodiscard]] Tensors cast_weights_of_head() const;
  /// Beside these while the loss is computed: its FP32 copy; two gradients.
  [[nodiscard]] Tensors loss_forward() const;
  [[nodiscard]] Tensors loss_backward() const;

 private:
  void keep_attention(Tensors& kept) const;
  void keep_feed_forward(Tensors& kept) const;
  [[nodiscard]] std::int64_t logits() const;

  const XlnetSpec& spec_;
  XlnetLayerShape layer_;
};

}  // namespace lockstep
