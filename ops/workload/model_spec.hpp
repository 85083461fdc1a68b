#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/parameters.hpp"
#include "ops/workload/cnn_spec.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/encoder_decoder_spec.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/transformer_spec.hpp"
#include "ops/workload/xlnet_spec.hpp"

namespace lockstep {

/// A model as configs/models/<name>.yaml describes it: exactly one of the kinds.
struct ModelSpec {
  static constexpr const char* kConfigKind = "models";

  std::string name;
  std::string source;
  FrameworkSpec framework;
  std::optional<DlrmSpec> dlrm;
  std::optional<TransformerSpec> transformer;
  std::optional<EncoderDecoderSpec> encoder_decoder;
  std::optional<XlnetSpec> xlnet;
  std::optional<CnnSpec> cnn;

  template <class Visitor>
  static void describe(Visitor& key, ModelSpec& model) {
    key.required("name", model.name, "identifier used by scenarios");
    key.required("source", model.source, "where the figures come from");
    key.optional("framework", model.framework, FrameworkSpec{}, "the PyTorch version's ways");
    key.optional("dlrm", model.dlrm, std::nullopt, "a deep learning recommendation model");
    key.optional("transformer", model.transformer, std::nullopt, "a GPT or BERT");
    key.optional("encoder_decoder", model.encoder_decoder, std::nullopt, "a T5 or Switch Transformer");
    key.optional("xlnet", model.xlnet, std::nullopt, "an XLNet");
    key.optional("cnn", model.cnn, std::nullopt, "a convolutional network for images");
  }

  /// Written as Hugging Face's code runs, with its training loop.
  [[nodiscard]] bool is_hugging_face() const {
    return encoder_decoder || xlnet || (transformer && transformer->is_in_modules());
  }
  /// Whether the model is one of tokens, whoever wrote it.
  [[nodiscard]] bool is_transformer() const { return transformer || encoder_decoder || xlnet; }

  void check() const {
    if (int{dlrm.has_value()} + int{transformer.has_value()} + int{encoder_decoder.has_value()} +
            int{xlnet.has_value()} + int{cnn.has_value()} !=
        1) {
      throw FieldError{"name",
                       "a model is described by one of 'dlrm:', 'transformer:', 'encoder_decoder:', 'xlnet:' "
                       "and 'cnn:'"};
    }
    if (framework.apex && encoder_decoder) {
      throw FieldError{"framework.apex",
                       "with Apex installed an encoder-decoder's norms are its FusedRMSNorm, which is not "
                       "known; leave it out"};
    }
    check_compile();
    check_embedding_backward();
    check_transformers();
    if (framework.empty_cache != EmptyCache::Never && !is_hugging_face()) {
      throw FieldError{"framework.empty_cache",
                       "is known for transformers with 'implementation: hugging_face', whose tensors are "
                       "followed one by one; leave it out"};
    }
    if ((!framework.no_sync || framework.synchronize) && !is_hugging_face()) {
      throw FieldError{framework.no_sync ? "framework.synchronize" : "framework.no_sync",
                       "is of the training loop of transformers with 'implementation: hugging_face', of "
                       "encoder-decoders and of XLNet; leave it out"};
    }
    if (framework.apex && transformer && transformer->implementation != Implementation::HuggingFace) {
      throw FieldError{"framework.apex",
                       "'implementation: megatron' and 'nanotron' reduce gradients and keep master weights "
                       "themselves: 'apex' is for "
                       "'implementation: hugging_face'"};
    }
  }

 private:
  void check_transformers() const {
    if (framework.transformers == Transformers::V4) {
      return;
    }
    const bool is_known = encoder_decoder || xlnet ||
                          (transformer && (transformer->implementation == Implementation::HuggingFace ||
                                           transformer->implementation == Implementation::HuggingFaceLlama));
    if (!is_known) {
      throw FieldError{"framework.transformers",
                       "is of models of 'implementation: hugging_face' and 'hugging_face_llama', of "
                       "encoder-decoders and of XLNet; leave it out"};
    }
    if (encoder_decoder && encoder_decoder->experts) {
      throw FieldError{"framework.transformers",
                       "of Switch Transformers only 'v4' is known: leave it, or 'experts', out"};
    }
    if (framework.compile != Compile::None) {
      throw FieldError{"framework.transformers", "compiled models are of 'v4': leave it out, or 'compile'"};
    }
    const bool is_in_modules = transformer && transformer->is_in_modules();
    if (is_in_modules && (transformer->classes || transformer->attention_mask)) {
      throw FieldError{"framework.transformers",
                       fmt::format("'v5' is not known with '{}': leave one of them out",
                                   transformer->classes ? "classes" : "attention_mask")};
    }
  }

  void check_embedding_backward() const {
    const bool eager = framework.compile == Compile::None && is_hugging_face();
    if (framework.embedding_backward != EmbeddingBackward::PyTorch112 && !eager) {
      throw FieldError{"framework.embedding_backward",
                       "is of eager transformers with 'implementation: hugging_face'; leave it out"};
    }
  }

  void check_compiled_blocks() const {
    if (framework.compile == Compile::CudaGraphs) {
      throw FieldError{
          "framework.compile",
          "torchtitan compiles its blocks one by one, without CUDA graphs: say 'compile: inductor'"};
    }
    if (framework.compiled_loss == CompiledLoss::Stored) {
      throw FieldError{
          "framework.compiled_loss",
          "torchtitan compiles its loss since PyTorch 2.7, which stores no log-softmax: 'recomputed', "
          "or 'eager' for the years before"};
    }
  }

  void check_compile() const {
    if (framework.compile == Compile::None) {
      return;
    }
    if (encoder_decoder || xlnet) {
      throw FieldError{"framework.compile",
                       fmt::format("an {} is written as eager PyTorch runs it; leave it out",
                                   xlnet ? "XLNet" : "encoder-decoder")};
    }
    const bool is_torchtitan = transformer && transformer->implementation == Implementation::TorchTitan;
    if (is_torchtitan) {
      check_compiled_blocks();
      return;
    }
    if (!is_hugging_face()) {
      throw FieldError{"framework.compile",
                       "compiled are transformers with 'implementation: hugging_face', 'pytorch' or "
                       "'torchtitan': others are "
                       "written as eager PyTorch runs them"};
    }
    if (framework.compiled_loss == CompiledLoss::Eager && !transformer->is_plain()) {
      throw FieldError{"framework.compiled_loss",
                       "'eager' is of 'implementation: torchtitan', which compiles blocks and loss apart, "
                       "and of 'pytorch'; "
                       "here the loss is part of the model"};
    }
    if (transformer->family == TransformerFamily::Opt) {
      throw FieldError{
          "framework.compile",
          "compiled are 'family: gpt' and 'family: bert': OPT's layers are dropped at random in training, "
          "which breaks its graph at each of them"};
    }
    if (transformer->classes && transformer->family == TransformerFamily::Gpt) {
      throw FieldError{
          "framework.compile",
          "of models with 'classes' only 'family: bert' is compiled: leave 'classes' out, or 'compile'"};
    }
    if (transformer->attention_mask || transformer->classified == Classified::Tokens || !transformer->tied) {
      throw FieldError{"framework.compile",
                       "neither 'attention_mask' nor 'classified: tokens' nor 'tied: false' is known of "
                       "compiled models: leave it out, or 'compile'"};
    }
    if (transformer->gelu == Gelu::Normcdf) {
      throw FieldError{"framework.compile",
                       "'gelu: normcdf' is PyTorch before 1.12, torch.compile PyTorch 2: say 'gelu: fused'"};
    }
  }
};

}  // namespace lockstep
