#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/memory.hpp"
#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/framework_spec.hpp"
#include "ops/workload/layers/cross_network.hpp"
#include "ops/workload/layers/embedding_bag.hpp"
#include "ops/workload/layers/interaction.hpp"
#include "ops/workload/layers/mlp.hpp"

namespace lockstep {

/// Parts of a step at whose start device memory changes, in the order in which it is counted.
enum class DlrmMoment : std::uint8_t {
  Start,
  Lookups,
  BottomMlp,
  Interaction,
  TopMlp,
  Backward,
  BelowTop,
  BottomBackward,
  TablesBackward,
  Update,
};
inline constexpr std::size_t kDlrmMoments = static_cast<std::size_t>(DlrmMoment::Update) + 1;

/// Shapes and settings that decide the device memory of a DLRM step.
struct DlrmMemoryShape {
  MlpShape bottom, top;
  InteractionShape interaction;
  CrossShape cross;
  std::span<const EmbeddingBagShape> bags;  ///< by group of equal sharding
  DataType features = DataType::FP32;       ///< that the interaction takes
  DataType activations = DataType::FP32;    ///< of the MLPs
  bool has_dense = true;                    ///< the bottom MLP is computed here
  bool trains_bottom = true, trains_top = true, trains_tables = true;
  bool hybrid = false;  ///< its output comes with the exchanged rows
  DlrmOptimizer optimizer = DlrmOptimizer::Sgd;
  FrameworkSpec framework;
  std::size_t ranks = 1;
  int batches = 1;  ///< inputs on the device at a time: a pipeline fetches ahead
  Bytes index;      ///< of one index or offset
  std::array<ProgramPosition, kDlrmMoments> moments{};  ///< where the parts begin
};

/// Device memory of @p rank when it holds most, counted in the order of DlrmStep.
///
///   parameters   4 B an element: MLPs, and the rank's parts of tables; of tables in host memory only the
///                cache, 4 B a row for its table and 16 B a place for its row and age
///   optimizer    Adagrad: 4 B an element of both; row-wise Adagrad: 4 B an element of the MLPs and a row of
///                the tables, of those in host memory too (the sums stay on the GPU); SGD: nothing
///   gradients    MLPs' and data-parallel tables', 4 B; the other tables' rows are updated where their
///                gradients arise (FBGEMM's fused backward; the dense gradient of a table never exists)
///   activations  inputs; what backward reads: the output of each activation function, the features that the
///                interaction multiplies, and its result; of a cross layer its output, that of its first
///                product and what x_0 is multiplied by
///   workspace    of the operator that runs: linear outputs before the activation function, products of the
///                interaction, gradients on their way back, sorted lookups of the tables' backward
///   communication  pooled rows and gradients that are exchanged, buckets of DistributedDataParallel
///
/// Frozen parts have neither gradients nor optimizer states, and a frozen bottom MLP keeps no activations.
/// With 16 bits, weights and their gradients, tables and what they look up stay FP32; 16-bit copies of the
/// MLPs' weights live as long as the step (autocast's cache).
///
/// *Assumes*: pooled rows exchanged uncompressed, tensors freed when their last reader has been
/// launched. A rank's own samples before the input distribution are not counted.
/// *Source*: what autograd keeps: PyTorch 2 tools/autograd/derivatives.yaml (addmm, relu, sigmoid, bmm,
/// index); FBGEMM embedding_backward_split_host_template.cpp (sorted lookups); reducer.cpp (buckets).
[[nodiscard]] MemoryBreakdown dlrm_memory(const DlrmMemoryShape& shape, std::size_t rank);

/// The changes behind dlrm_memory, each at the start of its part of the step.
[[nodiscard]] std::vector<MemoryChange> dlrm_memory_changes(const DlrmMemoryShape& shape, std::size_t rank);

/// Host memory that @p rank fills: the rows of its tables there, 4 B an element (FBGEMM's weights_uvm; the
/// cache on the GPU is a copy).
[[nodiscard]] MemoryBreakdown dlrm_host_memory(const DlrmMemoryShape& shape, std::size_t rank);

}  // namespace lockstep
