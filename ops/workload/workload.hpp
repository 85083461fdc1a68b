#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "ops/host_overhead.hpp"
#include "ops/job.hpp"
#include "ops/workload/frozen_parts.hpp"
#include "ops/workload/loader_spec.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/optimizer_spec.hpp"
#include "ops/workload/parallelism_spec.hpp"
#include "ops/workload/phases.hpp"
#include "ops/workload/precision.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Limit for a step of one replica. Beyond, a batch is a mistake, and its simulation would take hours and all
/// memory.
constexpr std::int64_t kMostMicroBatches = 16384;

/// The model and its training: `workload: { model: dlrm_mlperf, global_batch: 65536, precision: fp32 }`.
struct WorkloadSpec {
  Named<ModelSpec> model;
  std::int64_t global_batch = 0;
  Precision precision = Precision::FP32;
  std::optional<MixedPrecision> mixed_precision;  ///< Autocast
  int gradient_accumulation = 1;
  std::optional<std::int64_t> micro_batch;
  bool clip_gradients = false;
  std::optional<Optimizer> optimizer;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  std::optional<std::int64_t> sequence;
  Phases phases = Phases::Step;
  std::vector<std::string> freeze;
  LoaderSpec loader;

  template <class Visitor>
  static void describe(Visitor& key, WorkloadSpec& workload) {
    key.required("model", workload.model, "a configuration of configs/models/, or one given in place");
    key.required("global_batch", workload.global_batch, "samples per step over all GPUs");
    key.optional("precision", workload.precision, Precision::FP32,
                 "of matrix products: fp32, tf32, fp16, bf16, or fp8 in linear layers and bf16 elsewhere");
    key.optional(
        "mixed_precision", workload.mixed_precision, std::nullopt,
        "with fp16 and bf16: what else is in 16 bits (autocast when left out: nothing); transformers "
        "with 'implementation: hugging_face', and pure of 'hugging_face_llama' and 'torchtitan' "
        "(others have FP32 master weights)");
    key.optional("gradient_accumulation", workload.gradient_accumulation, 1,
                 "micro-batches per step; transformers only");
    key.optional("micro_batch", workload.micro_batch, std::nullopt,
                 "samples of a micro-batch on one replica, in place of gradient_accumulation");
    key.optional("clip_gradients", workload.clip_gradients, false, "by their norm; transformers only");
    key.optional(
        "optimizer", workload.optimizer, std::nullopt,
        "sgd, adagrad or adamw with the kernels of torch.optim as framework.optimizer says: convolutional "
        "networks (default sgd) and transformers with 'implementation: hugging_face' (default adamw). These "
        "alone: adamw_hf: transformers.AdamW, lamb: Apex's FusedLAMB, bert_adam: pytorch-pretrained-BERT's "
        "loop over parameters. A DLRM's is in the model");
    key.optional("momentum", workload.momentum, 0.0, "of sgd: other than 0 is a tensor and a pass more");
    key.optional("nesterov", workload.nesterov, false, "of sgd: Nesterov's momentum");
    key.optional("weight_decay", workload.weight_decay, 0.0, "of sgd: other than 0 is a pass more");
    key.optional("sequence", workload.sequence, std::nullopt, "tokens of a sample, in place of the model's");
    key.optional(
        "phases", workload.phases, Phases::Step,
        "a whole step, forward and backward without optimizer, or forward alone (evaluation, of Hugging "
        "Face's models only); other than step: transformers only");
    key.optional("freeze", workload.freeze, {},
                 "parts that are not trained: no gradients, no optimizer states; backward ends at the lowest "
                 "part that is. DLRM: bottom_mlp, embedding, top_mlp; transformer: embedding, layers, layers "
                 "0..11, head; CNN: blocks, blocks 0..7, head");
    key.optional("loader", workload.loader, LoaderSpec{},
                 "how batches come to the training process (torch.utils.data.DataLoader)");
  }

  void check() const {
    if (global_batch < 1) {
      throw FieldError{"global_batch", "at least 1 sample is needed"};
    }
    if (gradient_accumulation < 1) {
      throw FieldError{"gradient_accumulation", "at least 1 micro-batch is needed; 1 means no accumulation"};
    }
    if (gradient_accumulation > kMostMicroBatches) {
      throw FieldError{"gradient_accumulation",
                       fmt::format("each micro-batch is simulated: at most {} are, not {}", kMostMicroBatches,
                                   gradient_accumulation)};
    }
    if (micro_batch && (*micro_batch < 1 || gradient_accumulation > 1)) {
      throw FieldError{"micro_batch",
                       "'micro_batch' is at least 1 sample and says how many micro-batches a step has: leave "
                       "'gradient_accumulation' out"};
    }
    if (!model->is_transformer() &&
        (gradient_accumulation > 1 || micro_batch || clip_gradients || sequence)) {
      throw FieldError{"model", fmt::format("a {}'s loop neither accumulates nor clips gradients and has no "
                                            "sequence",
                                            model->dlrm ? "DLRM" : "convolutional network")};
    }
    check_batch();
    check_optimizer();
    if (phases != Phases::Step) {
      check_phases();
    }
    if (sequence) {
      check_sequence();
    }
    check_freeze();
  }

  [[nodiscard]] OptimizerSpec update() const {
    return {.kind = optimizer.value_or(model->cnn ? Optimizer::Sgd : Optimizer::AdamW),
            .momentum = momentum,
            .nesterov = nesterov,
            .weight_decay = weight_decay};
  }

 private:
  /// @throws FieldError where a tensor of the batch is larger than can be counted
  void check_batch() const;

  void check_freeze() const {
    try {
      check_frozen(FrozenParts{freeze}, *model);
    } catch (const std::invalid_argument& problem) {
      throw FieldError{"freeze", problem.what()};
    }
    if (!freeze.empty() && phases == Phases::Forward) {
      throw FieldError{"freeze", "an evaluation trains nothing: leave 'freeze' out"};
    }
  }

  void check_sequence() const {
    const auto check = [&](auto cut) {
      cut.sequence = *sequence;
      cut.check();
    };
    if (model->encoder_decoder) {
      throw FieldError{
          "sequence",
          "an encoder-decoder has two: 'model: { encoder_decoder: { sequence, decoder_sequence } }'"};
    }
    if (model->xlnet) {
      check(*model->xlnet);
    } else {
      check(model->transformer.value());
    }
  }

  void check_optimizer() const {
    const OptimizerSpec chosen = update();
    const bool by_torch =
        chosen.kind == Optimizer::Sgd || chosen.kind == Optimizer::Adagrad || chosen.kind == Optimizer::AdamW;
    if (optimizer && !model->is_hugging_face() && !model->cnn &&
        (model->dlrm || chosen.kind != Optimizer::AdamW)) {
      throw FieldError{"optimizer", model->dlrm
                                        ? "a DLRM's optimizer is in its model: 'dlrm: { optimizer: sgd }'"
                                        : "other transformers than those with 'implementation: hugging_face' "
                                          "are trained with their code's AdamW; leave 'optimizer' out"};
    }
    if (model->cnn && !by_torch) {
      throw FieldError{"optimizer", fmt::format("a convolutional network is trained with sgd, adagrad or "
                                                "adamw; {} is for transformers",
                                                name_of(chosen.kind))};
    }
    if (model->dlrm && !(momentum == 0 && !nesterov && weight_decay == 0)) {
      throw FieldError{momentum != 0 ? "momentum" : (nesterov ? "nesterov" : "weight_decay"),
                       "a DLRM's SGD has neither momentum nor weight decay"};
    }
    chosen.check();
  }

  void check_phases() const {
    if (!model->is_transformer()) {
      throw FieldError{"phases", "only transformers are run without their optimizer"};
    }
    if (phases == Phases::Forward && !model->is_hugging_face()) {
      throw FieldError{"phases",
                       "'forward' is known of transformers with 'implementation: hugging_face'; others know "
                       "'step' and 'forward_backward'"};
    }
    if (phases == Phases::Forward && (gradient_accumulation > 1 || micro_batch)) {
      throw FieldError{"phases", "'forward' accumulates no gradients: leave micro-batches out"};
    }
    if (clip_gradients) {
      throw FieldError{"clip_gradients",
                       "gradients are clipped before the optimizer, which 'phases' leaves out"};
    }
  }
};

/// Programs for all ranks: one per GPU of @p fabric, in its order.
/// @param gpu_memory by GPU of the fabric: for the placement of embedding tables
/// @throws std::invalid_argument with a sentence about what does not fit together (batch and ranks, tables
/// and
///   memory, precision and kernels); the caller knows the file
[[nodiscard]] Job make_job(const WorkloadSpec& workload, const ParallelismSpec& parallelism,
                           const Fabric& fabric, const HostOverheads& host,
                           std::span<const Bytes> gpu_memory);

}  // namespace lockstep
