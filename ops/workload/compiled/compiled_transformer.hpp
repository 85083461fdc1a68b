#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/workload/compiled/compiled_attention.hpp"
#include "ops/workload/compiled/compiled_shape.hpp"
#include "ops/workload/compiled/residual_stream.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/layers/transformer_block.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// GPT-2 and BERT, Hugging Face's or of plain modules, as torch.compile (TorchDynamo, AOTAutograd,
/// TorchInductor) runs them: one graph forward, with the loss (`compiled_loss: eager`: without), and one
/// backward.
///
/// * Matrix products and attention kernels are the libraries' (`extern_kernels`). Everything element-wise
///   between two of them, casts and biases included, is one Triton kernel that reads each input once and
///   writes each output once; reductions along rows (layer norm, softmax) join it, and sums across rows
///   (gradients of biases and norms) are kernels of their own.
/// * A sum that is no kernel's last value is not written but recomputed by each kernel that needs it,
///   until it reads more than four buffers (torch/_inductor/config.py, realize_reads_threshold): so the
///   residual stream of GPT-2 reaches memory at about every second norm.
/// * What backward needs is chosen by a minimal cut of the graph: of a norm the normalised input, of gelu_new
///   its input and tanh, of GELU its input, of softmax its result, or with autocast the narrower scores from
///   which it is recomputed.
/// * BERT's attention matches a pattern (fuse_attention.py) and becomes scaled_dot_product_attention:
///   memory-efficient in FP32, FlashAttention-2 in 16 bits. GPT-2's, masked with where(), and autocast's,
///   cast before softmax, do not.
/// * Log-softmax is written in FP32 and read by backward, or (`compiled_loss: recomputed`) only the maximum
///   and the sum of each row are, in one pass over the logits (prepare_softmax_online), and backward's one
///   kernel goes through the logits again (PyTorch 2.7: pull request 127011).
/// * The gradient of logits that the model returns besides the loss is zeros that autograd fills and backward
///   reads.
/// * With several ranks DDPOptimizer cuts the graph where a bucket of gradients is full, here between layers,
///   and gradients become ready when their graph ends.
///
/// *Source*: PyTorch 2.1 torch/_inductor, torch/_functorch/partitioners.py and torch/_dynamo/backends; the
/// kernels are those that it wrote for DistilGPT2 and BertForMaskedLM in FP32 (thuml/learn_torch.compile on
/// GitHub, huggingface/*_cuda), where dropout was kept apart (fallback_random), which is otherwise fused.
///
/// *Assumes* a cast kernel for each weight and each weight's gradient under autocast, and for batches above
/// one the copies that bmm's operands need in eager mode too.
class CompiledTransformer {
 public:
  CompiledTransformer(StepWriter& step, const TransformerSpec& spec, const BlockShape& block,
                      const CrossEntropyShape& loss, bool is_training);
  // Its parts refer to its shape.
  CompiledTransformer(const CompiledTransformer&) = delete;
  CompiledTransformer& operator=(const CompiledTransformer&) = delete;

  /// Cuts where DDPOptimizer does: a graph begins at @p layer. Never with one rank.
  void cut(const BucketLimits& limits);
  [[nodiscard]] bool graph_begins_at(std::int64_t layer) const {
    return begins_[static_cast<std::size_t>(layer)];
  }

  /// A call of a graph: what is written between these is launched by it.
  void begin_graph(std::string_view name);
  void end_graph();
  /// Backward: the graph ends, its gradients are accumulated, the next begins.
  void next_backward_graph(GradientSink& gradients);

  void embeddings_forward();
  void block_forward();
  void head_forward();
  void loss_forward();

  void loss_backward();
  void head_backward(GradientSink& gradients);
  void block_backward(GradientSink& gradients);
  void embeddings_backward(GradientSink& gradients);

 private:
  void linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool bias_is_fused);
  void linear_backward(std::int64_t rows, std::int64_t in, std::int64_t out, GradientSink& gradients);
  void cast_weight_gradient(std::int64_t elements);

  void layer_norm(std::string_view what, double reads, double writes);
  void norm_forward();      // GPT: of the stream with what has been added to it
  void add_norm_forward();  // norms last: of the sum with the layer's result
  void norm_backward(std::string_view what, double gradients_read, double other_reads, bool drops,
                     GradientSink& gradients);
  void gelu_forward();
  void gelu_backward();

  void projections_forward();
  void projections_backward(GradientSink& gradients);

  CompiledShape shape_;
  ResidualStream stream_;
  CompiledAttention attention_;
  std::vector<bool> begins_;   ///< graphs, by layer
  bool follows_head_ = false;  ///< in backward: one gradient has come so far
};

}  // namespace lockstep
