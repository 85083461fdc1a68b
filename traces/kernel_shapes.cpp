#include "traces/kernel_shapes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <variant>

#include "ops/data_type_name.hpp"

namespace lockstep {
namespace {

std::string_view direction_name(Direction direction) {
  return direction == Direction::Forward ? "forward" : "backward";
}

/// The number of a FlashAttention version; 0: another kernel.
int version_number(FlashVersion version) {
  switch (version) {
    case FlashVersion::One:
    case FlashVersion::OneCuda:
      return 1;
    case FlashVersion::Two:
      return 2;
    case FlashVersion::Three:
      return 3;
    case FlashVersion::CuDnn:
    case FlashVersion::MemoryEfficient:
      break;
  }
  return 0;
}

std::uint64_t whole(double value) {
  return static_cast<std::uint64_t>(std::llround(value));
}

template <class... Alternatives>
struct Match : Alternatives... {
  using Alternatives::operator()...;
};
template <class... Alternatives>
Match(Alternatives...) -> Match<Alternatives...>;

std::string table_members(const std::vector<EmbeddingTable>& tables, std::int64_t batch) {
  std::int64_t rows = 0;
  double lookups = 0;
  for (const EmbeddingTable& table : tables) {
    rows += table.rows;
    lookups += table.pooling_factor * static_cast<double>(batch);
  }
  return fmt::format(R"("tables":{},"batch":{},"rows":{},"lookups":{},)", tables.size(), batch, rows,
                     whole(lookups));
}

std::string product_members(const Gemm& g) {
  return fmt::format(R"("batch":{},"m":{},"n":{},"k":{},"transpose":"{}{}",{})", g.batch, g.m, g.n, g.k,
                     g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N',
                     g.added_to > 0 ? R"("accumulates":true,)" : "");
}

std::string work_members(const KernelWork& work) {
  return std::visit(
      Match{
          [](const Gemm& g) { return product_members(g); },
          [](const Pointwise& p) {
            return fmt::format(R"("elements":{},"reads":{},"writes":{},)", p.elements, p.reads, p.writes);
          },
          [](const Reduction& r) {
            return fmt::format(R"("rows":{},"columns":{},"across rows":{},)", r.rows, r.columns,
                               r.across_rows);
          },
          [](const Concat& c) { return fmt::format(R"("elements":{},"pieces":{},)", c.elements, c.pieces); },
          [](const Transpose& t) {
            return fmt::format(R"("batch":{},"rows":{},"columns":{},)", t.batch, t.rows, t.columns);
          },
          [](const TriangularIndex& t) {
            return fmt::format(R"("batch":{},"n":{},"direction":"{}",)", t.batch, t.n,
                               direction_name(t.direction));
          },
          [](const Softmax& s) {
            return fmt::format(R"("rows":{},"columns":{},"direction":"{}",)", s.rows, s.columns,
                               direction_name(s.direction));
          },
          [](const LayerNorm& n) { return fmt::format(R"("rows":{},"columns":{},)", n.rows, n.columns); },
          [](const FlashAttention& a) {
            return fmt::format(
                R"("batch":{},"heads":{},"queries":{},"keys":{},"head size":{},"version":{},"direction":"{}",)",
                a.batch, a.heads, a.queries, a.keys, a.head_size, version_number(a.version),
                direction_name(a.direction));
          },
          [](const EmbeddingBags& b) {
            return table_members(b.tables, b.batch) +
                   fmt::format(R"("direction":"{}",)", direction_name(b.direction));
          },
          [](const EmbeddingCacheInsert& c) { return table_members(c.tables, c.batch); },
          [](const IndexSelect& i) {
            return fmt::format(R"("rows":{},"picks":{},"columns":{},"direction":"{}",)", i.table_rows,
                               i.picks, i.columns, direction_name(i.direction));
          },
          [](const OptimizerUpdate& o) {
            return fmt::format(R"("parameters":{},"tensors":{},)", o.parameters, o.tensors);
          },
          [](const Memcpy& m) { return fmt::format(R"("bytes":{},)", whole(m.size / Bytes{1})); },
          [](const Memset& m) { return fmt::format(R"("bytes":{},)", whole(m.size / Bytes{1})); },
          [](const Timed&) { return std::string{}; },
          [](const BatchNorm& n) {
            return fmt::format(R"("batch":{},"channels":{},"pixels":{},"direction":"{}",)", n.batch,
                               n.channels, n.pixels, direction_name(n.direction));
          },
          [](const Convolution& c) {
            return fmt::format(
                R"("batch":{},"in channels":{},"out channels":{},"input":"{}x{}","filter":"{}x{}","stride":{},)",
                c.batch, c.in_channels, c.out_channels, c.height, c.width, c.filter_height, c.filter_width,
                c.stride);
          },
      },
      work);
}

}  // namespace

std::string shape_members(const KernelCall& kernel) {
  return work_members(kernel.work) + fmt::format(R"("type":"{}",)", data_type_name(kernel.type));
}

}  // namespace lockstep
