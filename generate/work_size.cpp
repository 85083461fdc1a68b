#include "generate/work_size.hpp"

#include <algorithm>
#include <variant>

#include "ops/kernels/index_model.hpp"

namespace lockstep::generate {
namespace {

constexpr double kIndexBytes = 8;  // int64

double real(std::int64_t x) {
  return static_cast<double>(x);
}

/// Computes the size of each kind of work; `e`: bytes of an element.
struct Sizes {
  double e;
  DataType type;

  WorkSize operator()(const Gemm& g) const {
    const double results = real(g.m) * real(g.n);
    const double result_bytes = type == DataType::FP8 ? 2 : e;  // products of FP8 are BF16
    return {real(g.batch) *
                (e * (real(g.m) * real(g.k) + real(g.k) * real(g.n)) + results * (result_bytes + g.added_to)),
            2 * real(g.batch) * results * real(g.k)};
  }
  WorkSize operator()(const Pointwise& p) const {
    return {e * real(p.elements) * (p.reads + p.writes), real(p.elements) * p.flops};
  }
  WorkSize operator()(const Reduction& r) const {
    const double all = real(r.rows) * real(r.columns);
    return {e * (all + real(r.across_rows ? r.columns : r.rows)), all};
  }
  WorkSize operator()(const Concat& c) const { return {2 * e * real(c.elements), 0}; }
  WorkSize operator()(const Transpose& t) const {
    return {2 * e * real(t.batch) * real(t.rows) * real(t.columns), 0};
  }
  WorkSize operator()(const TriangularIndex& t) const {
    const double triangle = real(t.n) * real(t.diagonal ? t.n + 1 : t.n - 1) / 2;
    const double square = t.direction == Direction::Backward ? real(t.n) * real(t.n) : triangle;
    return {e * real(t.batch) * (triangle + square), 0};
  }
  WorkSize operator()(const Softmax& s) const {
    const double all = real(s.rows) * real(s.columns);
    const double passes = s.fused.any() ? s.fused.reads + s.fused.writes + s.fused.again
                                        : (s.direction == Direction::Forward ? 2 : 3);
    return {e * all * passes, 5 * all};
  }
  WorkSize operator()(const LayerNorm& n) const {
    const double all = real(n.rows) * real(n.columns);
    const double passes = n.fused.any() ? n.fused.reads + n.fused.writes + n.fused.again
                                        : (n.part == LayerNorm::Part::InputGradient ? 3 : 2);
    return {e * all * passes, 8 * all};
  }
  WorkSize operator()(const BatchNorm& b) const {
    const double all = real(b.batch) * real(b.channels) * real(b.pixels);
    const double own = b.direction == Direction::Forward ? 1 : 4;
    const double cudnn = b.direction == Direction::Forward ? 3 : 5;
    return {e * all * (b.own ? own : cudnn), 8 * all};
  }
  WorkSize operator()(const Convolution& c) const {
    const double pixels = real(c.out_height()) * real(c.out_width());
    const double filter =
        real(c.in_channels) * real(c.out_channels) * real(c.filter_height) * real(c.filter_width);
    return {e * (real(c.batch) * real(c.in_channels) * real(c.height) * real(c.width) + filter +
                 real(c.batch) * real(c.out_channels) * pixels),
            2 * real(c.batch) * pixels * filter};
  }
  WorkSize operator()(const FlashAttention& f) const {
    const double heads = real(f.batch) * real(f.heads);
    const double half = f.causal ? 0.5 : 1;
    const bool forward = f.direction == Direction::Forward;
    return {e * heads * real(f.head_size) * (real(f.queries) + real(f.keys)) * (forward ? 2 : 4),
            (forward ? 4 : 10) * half * heads * real(f.queries) * real(f.keys) * real(f.head_size)};
  }
  WorkSize operator()(const EmbeddingBags& b) const {
    WorkSize sum;
    for (const EmbeddingTable& table : b.tables) {
      const double look_ups = real(b.batch) * table.pooling_factor;
      const double dimension = real(table.dimension);
      const double pooled =
          real(b.batch) * dimension * (b.pooled ? lockstep::size_of(*b.pooled).in_base_units() : e);
      const double rows = table.reuse_factor > 0 ? look_ups / table.reuse_factor
                                                 : distinct_rows(index_model(table), look_ups);
      const double moved =
          b.direction == Direction::Forward ? look_ups * dimension * e : 2 * rows * dimension * e;
      sum.bytes += moved + pooled + look_ups * kIndexBytes;
      sum.flops += look_ups * dimension;
    }
    return sum;
  }
  WorkSize operator()(const EmbeddingCacheInsert& c) const {
    double bytes = 0;
    for (const EmbeddingTable& table : c.tables) {
      bytes += real(c.batch) * table.pooling_factor * kIndexBytes;
    }
    return {bytes, 0};
  }
  WorkSize operator()(const IndexSelect& i) const {
    const double passes = i.direction == Direction::Forward ? 2 : 3;
    return {real(i.picks) * (passes * e * real(i.columns) + kIndexBytes), 0};
  }
  WorkSize operator()(const OptimizerUpdate& u) const {
    return {e * real(u.parameters) * (u.reads + u.writes), real(u.parameters) * u.flops};
  }
  WorkSize operator()(const Memcpy& m) const {
    return {(m.path == Memcpy::Path::DeviceToDevice ? 2 : 1) * m.size.in_base_units(), 0};
  }
  WorkSize operator()(const Memset& m) const { return {m.size.in_base_units(), 0}; }
  WorkSize operator()(const Timed& /*unused*/) const { return {}; }
};

}  // namespace

WorkSize size_of(const KernelCall& call) {
  return std::visit(Sizes{lockstep::size_of(call.type).in_base_units(), call.type}, call.work);
}

}  // namespace lockstep::generate
