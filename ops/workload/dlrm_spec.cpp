#include "ops/workload/dlrm_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/kernels/index_model.hpp"
#include "ops/workload/model_sizes.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kPadding = 8;  // of the fused interaction's result: elements of 16 bits in 16 bytes

constexpr int kMostPooling = 1'000'000;  // lookups of a sample: a bound for slips, real tables have hundreds

void check_widths(const char* key, const std::vector<std::int64_t>& widths, std::size_t least) {
  if (widths.size() < least || std::any_of(widths.begin(), widths.end(), [](auto w) { return w < 1; })) {
    throw FieldError{key, fmt::format("'{}' needs at least {} widths, all of them positive", key, least)};
  }
}

void check_indices(const EmbeddingTable& table) {
  if (!(table.index_skew >= 0 && table.index_skew <= kMostIndexSkew)) {
    throw FieldError{"tables",
                     fmt::format("index_skew is 0 to {}, not {}", kMostIndexSkew, table.index_skew)};
  }
  if (!(table.active_rows > 0 && table.active_rows <= 1)) {
    throw FieldError{"tables",
                     fmt::format("active_rows is a share above 0, at most 1, not {}", table.active_rows)};
  }
  if (!(table.index_duplication >= 1)) {
    throw FieldError{"tables",
                     fmt::format("index_duplication is at least 1, not {}", table.index_duplication)};
  }
  if (table.reuse_factor > 0 &&
      (table.index_skew > 0 || table.active_rows < 1 || table.index_duplication > 1)) {
    throw FieldError{
        "tables",
        "reuse_factor fixes what index_skew, active_rows and index_duplication say: give one or the "
        "others"};
  }
}

void check_cross(const DlrmSpec& spec) {
  const bool cross = spec.interaction == Interaction::Cross;
  if (cross != (spec.cross_layers > 0) || spec.cross_layers < 0) {
    throw FieldError{"cross_layers", cross ? "'interaction: cross' needs its layers, e.g. 3"
                                           : "only 'interaction: cross' has cross layers"};
  }
  if (cross != (spec.cross_projection > 0) || spec.cross_projection < 0) {
    throw FieldError{"cross_projection", cross ? "'interaction: cross' needs a projection, e.g. 512"
                                               : "only 'interaction: cross' has a projection"};
  }
  const bool hugectr = spec.implementation == DlrmImplementation::HugeCtr;
  if (hugectr && !cross) {
    throw FieldError{
        "implementation",
        "'implementation: hugectr' is for 'interaction: cross' (DLRM-DCNv2): other interactions are "
        "those of 'implementation: pytorch', the default"};
  }
  if (cross && !hugectr && spec.bottom_mlp_placement != BottomMlpPlacement::EveryRank) {
    throw FieldError{"bottom_mlp_placement", "'interaction: cross' has the bottom MLP on every rank"};
  }
  if (hugectr && spec.bottom_mlp_placement != BottomMlpPlacement::EveryRank) {
    throw FieldError{"bottom_mlp_placement", "'implementation: hugectr' has the bottom MLP on every rank"};
  }
  if (hugectr && spec.embedding_kernels != EmbeddingKernels::Fbgemm) {
    throw FieldError{"embedding_kernels", "'implementation: hugectr' has kernels of its own: leave it out"};
  }
}

void check_joint(const DlrmSpec& spec, const std::vector<EmbeddingTable>& tables) {
  if (spec.embedding_kernels != EmbeddingKernels::Joint) {
    return;
  }
  if (std::any_of(tables.begin(), tables.end(),
                  [](const auto& table) { return table.pooling_factor != 1; })) {
    throw FieldError{"embedding_kernels",
                     "joint tables have one lookup a sample: 'pooling_factor: 1'; bags of several need "
                     "fbgemm or batched"};
  }
  if (spec.optimizer != DlrmOptimizer::Sgd) {
    throw FieldError{"embedding_kernels", "the sparse gradient of joint tables is added by 'optimizer: sgd'"};
  }
}

void check_embedding_bag(const DlrmSpec& spec, const std::vector<EmbeddingTable>& tables) {
  const bool is_bag = spec.embedding_kernels == EmbeddingKernels::EmbeddingBag;
  if (!is_bag && (spec.fixed_bags || spec.casts_rows || !spec.sparse_gradients)) {
    throw FieldError{spec.fixed_bags   ? "fixed_bags"
                     : spec.casts_rows ? "casts_rows"
                                       : "sparse_gradients",
                     "is of 'embedding_kernels: embedding_bag'"};
  }
  if (!is_bag) {
    return;
  }
  if (spec.sparse_gradients && spec.optimizer != DlrmOptimizer::Sgd) {
    throw FieldError{
        "embedding_kernels",
        "the sparse gradients of nn.EmbeddingBag are added by 'optimizer: sgd'; Adagrad is there "
        "with fbgemm and batched, and with 'sparse_gradients: false'"};
  }
  if (spec.optimizer == DlrmOptimizer::RowWiseAdagrad) {
    throw FieldError{"optimizer", "rowwise_adagrad is FBGEMM's: 'embedding_kernels: fbgemm'"};
  }
  if (spec.bottom_mlp_placement != BottomMlpPlacement::EveryRank) {
    throw FieldError{"embedding_kernels", "embedding_bag has the bottom MLP on every rank"};
  }
  const auto uneven = std::ranges::find_if(tables, [](const EmbeddingTable& table) {
    return table.pooling_factor != std::floor(table.pooling_factor);
  });
  if (spec.fixed_bags && uneven != tables.end()) {
    throw FieldError{"fixed_bags",
                     fmt::format("every sample has equally many lookups then: pooling_factor is a "
                                 "whole number, not {:g}",
                                 uneven->pooling_factor)};
  }
}

}  // namespace

void DlrmSpec::check() const {
  check_widths("bottom_mlp", bottom_mlp, 2);
  check_widths("top_mlp", top_mlp, 1);
  if (max_rows && *max_rows < 1) {
    throw FieldError{"max_rows", fmt::format("tables are hashed to at least one row, not {}", *max_rows)};
  }
  for (const TableGroupSpec& group : tables) {
    if (group.rows.empty() || group.count < 1) {
      throw FieldError{"tables", group.rows.empty()
                                     ? "'rows' has the rows of at least one table, e.g. [100000]"
                                     : fmt::format("count is 1 or more, not {}", group.count)};
    }
  }
  check_sizes(*this);
  const std::vector<EmbeddingTable> all = all_tables();
  if (all.empty()) {
    throw FieldError{"tables", "a DLRM has at least one embedding table"};
  }
  for (const EmbeddingTable& table : all) {
    if (table.rows < 1 || table.dimension < 1 || table.pooling_factor <= 0 || table.reuse_factor < 0) {
      throw FieldError{"tables",
                       "rows, dimension and pooling_factor are positive, reuse_factor is not negative"};
    }
    if (table.reuse_factor > 0 && table.reuse_factor < 1) {
      throw FieldError{"tables", fmt::format("reuse_factor is lookups for each different row of a batch: 1 "
                                             "or more, or 0 to have it follow, not {}",
                                             table.reuse_factor)};
    }
    if (table.pooling_factor > kMostPooling) {
      throw FieldError{"tables", fmt::format("pooling_factor is lookups of one sample, at most {}, not {:g}",
                                             kMostPooling, table.pooling_factor)};
    }
    check_indices(table);
    if (interaction == Interaction::Dot && table.dimension != bottom_mlp.back()) {
      throw FieldError{
          "tables", fmt::format("the dot interaction needs tables as wide as the bottom MLP's output ({}), "
                                "not {}; 'interaction: cat' takes any",
                                bottom_mlp.back(), table.dimension)};
    }
  }
  check_joint(*this, all);
  check_embedding_bag(*this, all);
  if (optimizer == DlrmOptimizer::RowWiseAdagrad &&
      (implementation == DlrmImplementation::HugeCtr || embedding_kernels != EmbeddingKernels::Fbgemm)) {
    throw FieldError{"optimizer",
                     "rowwise_adagrad is FBGEMM's, of 'implementation: pytorch' with 'embedding_kernels: "
                     "fbgemm'; others have 'adagrad'"};
  }
  check_cross(*this);
  if (interaction_kernels == InteractionKernels::Fused && interaction != Interaction::Dot) {
    throw FieldError{"interaction_kernels", "'fused' is a kernel of 'interaction: dot'"};
  }
}

std::vector<EmbeddingTable> DlrmSpec::all_tables() const {
  std::vector<EmbeddingTable> all;
  for (const TableGroupSpec& group : tables) {
    for (const std::int64_t rows : group.rows) {
      for (int i = 0; i < group.count; ++i) {
        all.push_back({.rows = max_rows ? std::min(rows, *max_rows) : rows,
                       .dimension = group.dimension,
                       .pooling_factor = group.pooling_factor,
                       .reuse_factor = group.reuse_factor,
                       .index_skew = group.index_skew,
                       .active_rows = group.active_rows,
                       .index_duplication = group.index_duplication});
      }
    }
  }
  return all;
}

std::int64_t DlrmSpec::interaction_width() const {
  const std::vector<EmbeddingTable> all = all_tables();
  std::int64_t width = bottom_mlp.back();
  if (interaction == Interaction::Dot) {
    const auto features = static_cast<std::int64_t>(all.size()) + 1;
    width += features * (features - 1) / 2;
    return interaction_kernels == InteractionKernels::Fused ? (width + kPadding - 1) / kPadding * kPadding
                                                            : width;
  }
  for (const EmbeddingTable& table : all) {
    width += table.dimension;
  }
  return width;
}

}  // namespace lockstep
