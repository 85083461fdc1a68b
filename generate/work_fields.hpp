#pragma once

/// @file
/// The sizes of each kind of work by name, declared once: the operation table is written and read by them.
/// `visit(name, field)` is called for each; switches are 0 or 1, enumerations their number.

#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "ops/kernel.hpp"

namespace lockstep::generate {

template <class Visitor>
void visit_fields(Visitor& visit, Gemm& work) {
  visit("batch", work.batch);
  visit("m", work.m);
  visit("n", work.n);
  visit("k", work.k);
  visit("transpose_a", work.transpose_a);
  visit("transpose_b", work.transpose_b);
  visit("added_to", work.added_to);
  visit("concurrent", work.concurrent);
  visit("grouped", work.grouped);
}
template <class Visitor>
void visit_fields(Visitor& visit, Pointwise& work) {
  visit("elements", work.elements);
  visit("reads", work.reads);
  visit("writes", work.writes);
  visit("flops", work.flops);
  visit("instructions", work.instructions);
  visit("in_step", work.in_step);
  visit("sector_window", work.sector_window);
  visit("chain", work.chain);
}
template <class Visitor>
void visit_fields(Visitor& visit, Reduction& work) {
  visit("rows", work.rows);
  visit("columns", work.columns);
  visit("across_rows", work.across_rows);
}
template <class Visitor>
void visit_fields(Visitor& visit, Concat& work) {
  visit("elements", work.elements);
  visit("pieces", work.pieces);
  visit("strided", work.strided);
}
template <class Visitor>
void visit_fields(Visitor& visit, Transpose& work) {
  visit("batch", work.batch);
  visit("rows", work.rows);
  visit("columns", work.columns);
}
template <class Visitor>
void visit_fields(Visitor& visit, TriangularIndex& work) {
  visit("batch", work.batch);
  visit("n", work.n);
  visit("diagonal", work.diagonal);
  visit("direction", work.direction);
}
template <class Visitor>
void visit_fields(Visitor& visit, FusedPasses& fused) {
  visit("fused_reads", fused.reads);
  visit("fused_writes", fused.writes);
  visit("fused_again", fused.again);
}
template <class Visitor>
void visit_fields(Visitor& visit, Softmax& work) {
  visit("rows", work.rows);
  visit("columns", work.columns);
  visit("direction", work.direction);
  visit("logarithm", work.logarithm);
  visit_fields(visit, work.fused);
  visit("row_of_a_warp", work.row_of_a_warp);
  visit("causal", work.causal);
  visit("half_to_float", work.half_to_float);
}
template <class Visitor>
void visit_fields(Visitor& visit, LayerNorm& work) {
  visit("rows", work.rows);
  visit("columns", work.columns);
  visit("part", work.part);
  visit_fields(visit, work.fused);
  visit("instructions", work.instructions);
  visit("rms", work.rms);
}
template <class Visitor>
void visit_fields(Visitor& visit, BatchNorm& work) {
  visit("batch", work.batch);
  visit("channels", work.channels);
  visit("pixels", work.pixels);
  visit("direction", work.direction);
  visit("own", work.own);
  visit("channels_last", work.channels_last);
}
template <class Visitor>
void visit_fields(Visitor& visit, Convolution& work) {
  visit("batch", work.batch);
  visit("in_channels", work.in_channels);
  visit("out_channels", work.out_channels);
  visit("height", work.height);
  visit("width", work.width);
  visit("filter_height", work.filter_height);
  visit("filter_width", work.filter_width);
  visit("stride", work.stride);
  visit("padding_height", work.padding_height);
  visit("padding_width", work.padding_width);
  visit("pass", work.pass);
  visit("channels_first", work.channels_first);
  visit("tuned", work.tuned);
}
template <class Visitor>
void visit_fields(Visitor& visit, FlashAttention& work) {
  visit("batch", work.batch);
  visit("heads", work.heads);
  visit("queries", work.queries);
  visit("keys", work.keys);
  visit("head_size", work.head_size);
  visit("causal", work.causal);
  visit("dropout", work.dropout);
  visit("direction", work.direction);
  visit("version", work.version);
  visit("main_alone", work.main_alone);
}
template <class Visitor>
void visit_fields(Visitor& visit, EmbeddingTable& table) {
  visit("rows", table.rows);
  visit("dimension", table.dimension);
  visit("pooling_factor", table.pooling_factor);
  visit("reuse_factor", table.reuse_factor);
  visit("location", table.location);
  visit("cache_load_factor", table.cache_load_factor);
  visit("index_skew", table.index_skew);
  visit("active_rows", table.active_rows);
  visit("index_duplication", table.index_duplication);
  visit("zipf", table.zipf);
}
template <class Visitor>
void visit_fields(Visitor& visit, EmbeddingBags& work) {
  visit("batch", work.batch);
  visit("direction", work.direction);
  visit("optimizer", work.optimizer);
  visit("pooled", work.pooled);
  visit("repeated", work.repeated);
  visit("atomic", work.atomic);
}
template <class Visitor>
void visit_fields(Visitor& visit, EmbeddingCacheInsert& work) {
  visit("batch", work.batch);
}
template <class Visitor>
void visit_fields(Visitor& visit, IndexSelect& work) {
  visit("table_rows", work.table_rows);
  visit("picks", work.picks);
  visit("columns", work.columns);
  visit("direction", work.direction);
  visit("block_per_row", work.block_per_row);
}
template <class Visitor>
void visit_fields(Visitor& visit, OptimizerUpdate& work) {
  visit("optimizer", work.optimizer);
  visit("parameters", work.parameters);
  visit("tensors", work.tensors);
  visit("reads", work.reads);
  visit("writes", work.writes);
  visit("flops", work.flops);
}
template <class Visitor>
void visit_fields(Visitor& visit, Memcpy& work) {
  visit("size", work.size);
  visit("path", work.path);
  visit("pinned", work.pinned);
}
template <class Visitor>
void visit_fields(Visitor& visit, Memset& work) {
  visit("size", work.size);
}
template <class Visitor>
void visit_fields(Visitor& visit, Timed& work) {
  visit("duration", work.duration);
}

/// Names of the alternatives of KernelWork, in their order.
inline constexpr auto kWorkNames = std::to_array<std::string_view>(
    {"gemm", "pointwise", "reduction", "concat", "transpose", "triangular_index", "softmax", "layer_norm",
     "flash_attention", "embedding_bags", "embedding_cache_insert", "index_select", "optimizer", "memcpy",
     "memset", "timed", "batch_norm", "convolution"});
static_assert(kWorkNames.size() == std::variant_size_v<KernelWork>);

}  // namespace lockstep::generate
