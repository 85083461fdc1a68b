#include "ops/call_hash.hpp"

#include <functional>
#include <type_traits>

namespace lockstep {
namespace {

/// Mixes values into one number (the combination step of Boost.ContainerHash: golden ratio and shifts).
class Mixer {
 public:
  template <class... Values>
  explicit Mixer(const Values&... values) {
    (add(values), ...);
  }

  [[nodiscard]] std::size_t value() const { return value_; }

  template <class Value>
  void add(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      mix(static_cast<std::size_t>(value));
    } else {
      mix(std::hash<Value>{}(value));
    }
  }
  void add(Bytes size) { add(size.in_base_units()); }
  void add(Seconds time) { add(time.in_base_units()); }

 private:
  void mix(std::size_t hash) { value_ ^= hash + 0x9e3779b97f4a7c15ULL + (value_ << 6) + (value_ >> 2); }

  std::size_t value_ = 0;
};

void add_tables(const std::vector<EmbeddingTable>& tables, Mixer& mixer) {
  for (const EmbeddingTable& table : tables) {
    mixer.add(table.rows);
    mixer.add(table.dimension);
    mixer.add(table.pooling_factor);
    mixer.add(table.reuse_factor);
    mixer.add(table.index_skew);
    mixer.add(table.active_rows);
    mixer.add(table.index_duplication);
    mixer.add(table.zipf);
    mixer.add(table.location);
    mixer.add(table.cache_load_factor);
  }
}

struct HashWork {
  std::size_t operator()(const Gemm& w) const {
    return Mixer{w.batch,       w.m,        w.n,          w.k,       w.transpose_a,
                 w.transpose_b, w.added_to, w.concurrent, w.grouped, w.split_accumulator}
        .value();
  }
  std::size_t operator()(const Pointwise& w) const {
    return Mixer{w.elements, w.reads, w.writes, w.flops, w.instructions, w.in_step, w.sector_window, w.chain}
        .value();
  }
  std::size_t operator()(const Reduction& w) const { return Mixer{w.rows, w.columns, w.across_rows}.value(); }
  std::size_t operator()(const Concat& w) const { return Mixer{w.elements, w.pieces}.value(); }
  std::size_t operator()(const Transpose& w) const { return Mixer{w.batch, w.rows, w.columns}.value(); }
  std::size_t operator()(const TriangularIndex& w) const {
    return Mixer{w.batch, w.n, w.diagonal, w.direction}.value();
  }
  std::size_t operator()(const Softmax& w) const {
    return Mixer{w.rows,         w.columns,     w.direction,     w.logarithm, w.fused.reads,
                 w.fused.writes, w.fused.again, w.row_of_a_warp, w.causal,    w.half_to_float}
        .value();
  }
  std::size_t operator()(const LayerNorm& w) const {
    return Mixer{w.rows,         w.columns,     w.part,         w.fused.reads,
                 w.fused.writes, w.fused.again, w.instructions, w.rms}
        .value();
  }
  std::size_t operator()(const FlashAttention& w) const {
    return Mixer{w.batch,  w.heads,   w.queries,   w.keys,   w.head_size,
                 w.causal, w.dropout, w.direction, w.version}
        .value();
  }
  std::size_t operator()(const EmbeddingBags& w) const {
    Mixer mixer{w.batch,    w.direction, w.optimizer, w.pooled ? 1 + static_cast<int>(*w.pooled) : 0,
                w.repeated, w.atomic};
    add_tables(w.tables, mixer);
    return mixer.value();
  }
  std::size_t operator()(const EmbeddingCacheInsert& w) const {
    Mixer mixer{w.batch};
    add_tables(w.tables, mixer);
    return mixer.value();
  }
  std::size_t operator()(const IndexSelect& w) const {
    return Mixer{w.table_rows, w.picks, w.columns, w.direction, w.block_per_row}.value();
  }
  std::size_t operator()(const OptimizerUpdate& w) const {
    return Mixer{w.optimizer, w.parameters, w.tensors, w.reads, w.writes, w.flops}.value();
  }
  std::size_t operator()(const Memcpy& w) const { return Mixer{w.size, w.path, w.pinned}.value(); }
  std::size_t operator()(const Memset& w) const { return Mixer{w.size}.value(); }
  std::size_t operator()(const Timed& w) const { return Mixer{w.duration}.value(); }
  std::size_t operator()(const BatchNorm& w) const {
    return Mixer{w.batch, w.channels, w.pixels, w.direction, w.own, w.channels_last}.value();
  }
  std::size_t operator()(const Convolution& w) const {
    return Mixer{w.batch,         w.in_channels,    w.out_channels, w.height,         w.width,
                 w.filter_height, w.filter_width,   w.stride,       w.padding_height, w.padding_width,
                 w.pass,          w.channels_first, w.tuned}
        .value();
  }
};

}  // namespace

std::size_t hash_of(const KernelCall& call) {
  return Mixer{call.name, call.type, call.work.index(), std::visit(HashWork{}, call.work)}.value();
}

std::size_t hash_of(const CollectiveCall& call) {
  Mixer mixer{call.kind, call.type, call.group, call.size, call.peer, call.sm_limit, call.batched};
  for (const double bytes : call.send_bytes) {
    mixer.add(bytes);
  }
  return mixer.value();
}

}  // namespace lockstep
