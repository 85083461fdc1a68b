#include "ops/kernel_model.hpp"

#include <variant>

#include "ops/kernels/attention.hpp"
#include "ops/kernels/convolution.hpp"
#include "ops/kernels/copy.hpp"
#include "ops/kernels/embedding.hpp"
#include "ops/kernels/embedding_cache.hpp"
#include "ops/kernels/gemm.hpp"
#include "ops/kernels/index_select.hpp"
#include "ops/kernels/learned.hpp"
#include "ops/kernels/normalisation.hpp"
#include "ops/kernels/optimizer.hpp"
#include "ops/kernels/pointwise.hpp"
#include "ops/kernels/reduction.hpp"
#include "ops/kernels/timed.hpp"
#include "ops/kernels/triangular_index.hpp"

namespace lockstep {
namespace {

template <class Model>
const KernelModel& the() {
  static const Model model;
  return model;
}

/// The model for kinds for which a GPU may have a network.
template <class Formula>
const KernelModel& learned_or() {
  static const LearnedOrFormula model{the<Formula>()};
  return model;
}

/// One row per kind of work; a kind without a row does not compile.
struct ModelTable {
  const KernelModel& operator()(const Gemm&) const { return learned_or<GemmModel>(); }
  const KernelModel& operator()(const Pointwise&) const { return learned_or<PointwiseModel>(); }
  const KernelModel& operator()(const Reduction&) const { return the<ReductionModel>(); }
  const KernelModel& operator()(const Concat&) const { return the<CopyModel>(); }
  const KernelModel& operator()(const Transpose&) const { return the<CopyModel>(); }
  const KernelModel& operator()(const TriangularIndex&) const { return the<TriangularIndexModel>(); }
  const KernelModel& operator()(const Softmax&) const { return learned_or<NormalisationModel>(); }
  const KernelModel& operator()(const LayerNorm&) const { return learned_or<NormalisationModel>(); }
  const KernelModel& operator()(const FlashAttention&) const { return the<FlashAttentionModel>(); }
  const KernelModel& operator()(const EmbeddingBags&) const { return learned_or<EmbeddingBagsModel>(); }
  const KernelModel& operator()(const EmbeddingCacheInsert&) const { return the<EmbeddingCacheModel>(); }
  const KernelModel& operator()(const IndexSelect&) const { return the<IndexSelectModel>(); }
  const KernelModel& operator()(const OptimizerUpdate&) const { return the<OptimizerModel>(); }
  const KernelModel& operator()(const Memcpy&) const { return the<CopyModel>(); }
  const KernelModel& operator()(const Memset&) const { return the<CopyModel>(); }
  const KernelModel& operator()(const Timed&) const { return the<TimedModel>(); }
  const KernelModel& operator()(const BatchNorm&) const { return the<NormalisationModel>(); }
  const KernelModel& operator()(const Convolution&) const { return the<ConvolutionModel>(); }
};

}  // namespace

const KernelModel& model_for(const KernelCall& call) {
  return std::visit(ModelTable{}, call.work);
}

}  // namespace lockstep
