#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// The implementation that runs the training step.
enum class DlrmImplementation : std::uint8_t {
  Pytorch,     ///< facebookresearch/dlrm, NVIDIA's DLRM example
  TorchRec,    ///< TorchRec's pipeline; its Python and the loader in it are not modelled
  TensorFlow,  ///< PyTorch's kernels stand for TensorFlow's; its executor is not modelled
  HugeCtr,     ///< NVIDIA-Merlin/HugeCTR with an embedding collection
};
constexpr auto names_of(DlrmImplementation) {
  return std::to_array<EnumName<DlrmImplementation>>({{DlrmImplementation::Pytorch, "pytorch"},
                                                      {DlrmImplementation::TorchRec, "torchrec"},
                                                      {DlrmImplementation::TensorFlow, "tensorflow"},
                                                      {DlrmImplementation::HugeCtr, "hugectr"}});
}

enum class Interaction : std::uint8_t {
  Dot,
  Concatenate,
  Cross,  ///< DCNv2: all features concatenated, then low-rank cross layers
};
constexpr auto names_of(Interaction) {
  return std::to_array<EnumName<Interaction>>(
      {{Interaction::Dot, "dot"}, {Interaction::Concatenate, "cat"}, {Interaction::Cross, "cross"}});
}

enum class DlrmLoss : std::uint8_t {
  MeanSquaredError,
  BinaryCrossEntropy,            ///< of probabilities
  BinaryCrossEntropyWithLogits,  ///< without a sigmoid behind the top MLP
};
constexpr auto names_of(DlrmLoss) {
  return std::to_array<EnumName<DlrmLoss>>({{DlrmLoss::MeanSquaredError, "mse"},
                                            {DlrmLoss::BinaryCrossEntropy, "bce"},
                                            {DlrmLoss::BinaryCrossEntropyWithLogits, "bce_with_logits"}});
}

enum class EmbeddingKernels : std::uint8_t {
  Batched,       ///< one kernel each way: the table-batched operator of 2020-2021, atomics in backward
  Fbgemm,        ///< FBGEMM: backward sorts the indices first
  Joint,         ///< one lookup a table and sample: one gather; a sparse gradient, added by torch.optim.SGD
  EmbeddingBag,  ///< torch.nn.EmbeddingBag, one module a table: a sparse gradient, added by torch.optim.SGD
};
constexpr auto names_of(EmbeddingKernels) {
  return std::to_array<EnumName<EmbeddingKernels>>({{EmbeddingKernels::Batched, "batched"},
                                                    {EmbeddingKernels::Fbgemm, "fbgemm"},
                                                    {EmbeddingKernels::Joint, "joint"},
                                                    {EmbeddingKernels::EmbeddingBag, "embedding_bag"}});
}

enum class InteractionKernels : std::uint8_t {
  Pytorch,  ///< products, a triangle of them by index, concatenation
  Fused,    ///< one kernel each way; the result is padded to a multiple of 8
};
constexpr auto names_of(InteractionKernels) {
  return std::to_array<EnumName<InteractionKernels>>(
      {{InteractionKernels::Pytorch, "pytorch"}, {InteractionKernels::Fused, "fused"}});
}

enum class BottomMlpPlacement : std::uint8_t {
  EveryRank,  ///< data-parallel, as the top MLP
  FirstRank,  ///< one rank computes it for the global batch and sends it with the looked-up rows
};
constexpr auto names_of(BottomMlpPlacement) {
  return std::to_array<EnumName<BottomMlpPlacement>>(
      {{BottomMlpPlacement::EveryRank, "every_rank"}, {BottomMlpPlacement::FirstRank, "first_rank"}});
}

enum class DlrmOptimizer : std::uint8_t {
  Sgd,
  Adagrad,
  RowWiseAdagrad,  ///< of tables; dense parameters have Adagrad
};
constexpr auto names_of(DlrmOptimizer) {
  return std::to_array<EnumName<DlrmOptimizer>>({{DlrmOptimizer::Sgd, "sgd"},
                                                 {DlrmOptimizer::Adagrad, "adagrad"},
                                                 {DlrmOptimizer::RowWiseAdagrad, "rowwise_adagrad"}});
}
/// The optimizer of parameters outside tables, and of data-parallel tables.
constexpr Optimizer dense_optimizer(DlrmOptimizer optimizer) {
  return optimizer == DlrmOptimizer::Sgd ? Optimizer::Sgd : Optimizer::Adagrad;
}
constexpr Optimizer table_optimizer(DlrmOptimizer optimizer) {
  return optimizer == DlrmOptimizer::RowWiseAdagrad ? Optimizer::RowWiseAdagrad : dense_optimizer(optimizer);
}

enum class IndexType : std::uint8_t { Int32, Int64 };
constexpr auto names_of(IndexType) {
  return std::to_array<EnumName<IndexType>>({{IndexType::Int32, "int32"}, {IndexType::Int64, "int64"}});
}

/// Embedding tables that differ in their rows only.
struct TableGroupSpec {
  std::vector<std::int64_t> rows;
  int count = 1;
  std::int64_t dimension = 0;
  double pooling_factor = 1;
  double reuse_factor = 0;
  double index_skew = 0;
  double active_rows = 1;
  double index_duplication = 1;

  template <class Visitor>
  static void describe(Visitor& key, TableGroupSpec& group) {
    key.required("rows", group.rows, "rows of each table, e.g. [1000000]");
    key.optional("count", group.count, 1, "how many of each");
    key.required("dimension", group.dimension, "elements of a row");
    key.optional("pooling_factor", group.pooling_factor, 1, "mean lookups per bag");
    key.optional("reuse_factor", group.reuse_factor, 0,
                 "lookups per distinct row in one batch; 0: as the popularity of the rows has it");
    key.optional(
        "index_skew", group.index_skew, 0,
        "standard deviation of log2 of the rows' popularities, 1.6 to 3.2 in real tables; 0: all alike");
    key.optional("active_rows", group.active_rows, 1, "share of the rows that are looked up at all");
    key.optional("index_duplication", group.index_duplication, 1,
                 "times that each index drawn repeats within its sample, 1 to 6 in real tables");
  }
};

/// A DLRM (Naumov et al., arXiv 1906.00091) and the training loop around it (facebookresearch/dlrm,
/// dlrm_s_pytorch.py). What is joint, fused and on the first rank: github.com/NVIDIA/DeepLearningExamples,
/// PyTorch/Recommendation/DLRM (dlrm/nn/embeddings.py, interactions.py, dlrm/utils/distributed.py).
struct DlrmSpec {
  DlrmImplementation implementation = DlrmImplementation::Pytorch;
  std::vector<std::int64_t> bottom_mlp;
  std::vector<std::int64_t> top_mlp;
  std::vector<TableGroupSpec> tables;
  std::optional<std::int64_t> max_rows;
  BottomMlpPlacement bottom_mlp_placement = BottomMlpPlacement::EveryRank;
  Interaction interaction = Interaction::Dot;
  int cross_layers = 0;
  std::int64_t cross_projection = 0;
  InteractionKernels interaction_kernels = InteractionKernels::Pytorch;
  bool interaction_indices_on_host = true;
  DlrmLoss loss = DlrmLoss::BinaryCrossEntropy;
  DlrmOptimizer optimizer = DlrmOptimizer::Sgd;
  EmbeddingKernels embedding_kernels = EmbeddingKernels::Fbgemm;
  bool sparse_gradients = true, fixed_bags = false, casts_rows = false;
  IndexType index_type = IndexType::Int64;
  bool input_on_device = false;
  bool loss_readback = true;
  bool synchronize_each_step = false;

  template <class Visitor>
  static void describe(Visitor& key, DlrmSpec& dlrm) {
    key.optional(
        "implementation", dlrm.implementation, DlrmImplementation::Pytorch,
        "what runs the step; torchrec, tensorflow: kernels as PyTorch's, host work of the loop in the band "
        "alone; hugectr: one CUDA graph, for 'interaction: cross'");
    key.required("bottom_mlp", dlrm.bottom_mlp,
                 "widths from the dense features on, e.g. [13, 512, 256, 128]");
    key.required("top_mlp", dlrm.top_mlp, "widths after the interaction, e.g. [1024, 512, 1]");
    key.required("tables", dlrm.tables, "groups of embedding tables");
    key.optional("max_rows", dlrm.max_rows, std::nullopt, "tables are hashed to at most so many rows");
    key.optional("bottom_mlp_placement", dlrm.bottom_mlp_placement, BottomMlpPlacement::EveryRank,
                 "first_rank: one of several ranks computes the bottom MLP for the global batch and sends "
                 "its output with the looked-up rows; tables are on the others where there are more than 4");
    key.optional("interaction", dlrm.interaction, Interaction::Dot,
                 "of dense and sparse features; cross: DCNv2's low-rank cross layers over all of them");
    key.optional("cross_layers", dlrm.cross_layers, 0, "interaction: cross: how many layers, e.g. 3");
    key.optional("cross_projection", dlrm.cross_projection, 0,
                 "interaction: cross: width between a layer's two products, e.g. 512");
    key.optional("interaction_kernels", dlrm.interaction_kernels, InteractionKernels::Pytorch,
                 "fused: the dot interaction is one kernel each way, its result padded to a multiple of 8");
    key.optional(
        "interaction_indices_on_host", dlrm.interaction_indices_on_host, true,
        "indices of the triangle are CPU tensors: copied with a synchronisation in every step, forward and "
        "backward");
    key.optional("loss", dlrm.loss, DlrmLoss::BinaryCrossEntropy, "loss function");
    key.optional("optimizer", dlrm.optimizer, DlrmOptimizer::Sgd,
                 "of dense parameters and tables; rowwise_adagrad: tables' sums by row (FBGEMM)");
    key.optional(
        "embedding_kernels", dlrm.embedding_kernels, EmbeddingKernels::Fbgemm,
        "implementation of the embedding; joint: one gather for tables of one lookup a sample, "
        "whose sparse gradient torch.optim.SGD adds; embedding_bag: a torch.nn.EmbeddingBag for each "
        "table, on one GPU");
    key.optional(
        "sparse_gradients", dlrm.sparse_gradients, true,
        "embedding_bag: sparse=True; false, PyTorch's default: gradients as large as the tables, which the "
        "optimizer goes through in every step");
    key.optional(
        "fixed_bags", dlrm.fixed_bags, false,
        "embedding_bag: indices are [samples, lookups], without offsets, which PyTorch makes of them");
    key.optional(
        "casts_rows", dlrm.casts_rows, false,
        "embedding_bag, 16 bits: the model casts looked-up rows to the type of the bottom MLP's output; "
        "else features are FP32");
    key.optional("index_type", dlrm.index_type, IndexType::Int64, "type of indices and offsets");
    key.optional("input_on_device", dlrm.input_on_device, false,
                 "the batch is on the device already; else each step copies it (blocks)");
    key.optional("loss_readback", dlrm.loss_readback, true,
                 "the loop reads the loss before backward (blocks)");
    key.optional(
        "synchronize_each_step", dlrm.synchronize_each_step, false,
        "the loop synchronises the device at the end of each step, with 'pipeline' when it has fetched a "
        "later batch");
  }

  /// @throws FieldError for widths or tables that do not fit together
  void check() const;

  /// All tables in order, rows capped.
  [[nodiscard]] std::vector<EmbeddingTable> all_tables() const;

  /// Width of the top MLP's input.
  [[nodiscard]] std::int64_t interaction_width() const;
};

}  // namespace lockstep
