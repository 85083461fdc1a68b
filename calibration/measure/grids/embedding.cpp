/// @file
/// Embedding lookups of several tables in one call, after FBGEMM's table-batched embeddings: `forward` sums
/// the rows of each bag, `sort` orders the indices by row for the backward pass, `update` adds up the
/// gradients of a row and applies row-wise Adagrad. Rows are drawn by Zipf's law with the exponent
/// zipf_percent / 100 (0: all rows alike).

#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

struct Lookup {
  const char* type = "fp32";
  std::int64_t tables = 8;
  std::int64_t rows = 1'000'000;
  std::int64_t dim = 128;
  std::int64_t batch = 2048;
  std::int64_t pooling = 32;
  std::int64_t zipf_percent = 80;
};

class EmbeddingGrid {
 public:
  explicit EmbeddingGrid(const MachineLimits& limits) : limits_{limits} {}

  void add(const Lookup& lookup) {
    const double weights = static_cast<double>(lookup.tables * lookup.rows) *
                           static_cast<double>(lookup.dim * bytes_of_type(lookup.type));
    const std::int64_t indices = lookup.tables * lookup.batch * lookup.pooling;
    constexpr std::int64_t kMostIndices = 16'000'000;  // a second of the host's time to draw
    if (indices > kMostIndices || weights > limits_.memory / Bytes{2}) {
      return;
    }
    // All passes of one lookup after each other: its tables and indices are made once.
    for (const char* pass : {"forward", "sort", "update"}) {
      points_.add(GridPoint{}
                      .set("pass", pass)
                      .set("type", lookup.type)
                      .set("tables", lookup.tables)
                      .set("rows", lookup.rows)
                      .set("dim", lookup.dim)
                      .set("batch", lookup.batch)
                      .set("pooling", lookup.pooling)
                      .set("zipf_percent", lookup.zipf_percent));
    }
  }
  [[nodiscard]] std::vector<GridPoint> points() && { return std::move(points_).points(); }

 private:
  const MachineLimits& limits_;
  PointSet points_;
};

void add_quick(EmbeddingGrid& grid) {
  for (const std::int64_t zipf : {0, 80, 120}) {
    for (const std::int64_t rows : {10'000, 1'000'000}) {
      grid.add({.rows = rows, .zipf_percent = zipf});
    }
  }
  for (const std::int64_t dim : {16, 64, 256}) {
    grid.add({.dim = dim});
  }
  for (const std::int64_t pooling : {1, 8}) {
    grid.add({.pooling = pooling});
  }
  for (const std::int64_t batch : {256, 8192}) {
    grid.add({.batch = batch});
  }
}

/// One thing at a time around the middle, then skew by rows by pooling, then batch by pooling by width.
void add_full(EmbeddingGrid& grid) {
  for (const std::int64_t tables : {1, 4, 26, 64}) {
    grid.add({.tables = tables});
  }
  for (const std::int64_t dim : {4, 16, 32, 64, 128, 256, 512}) {
    grid.add({.dim = dim});
    grid.add({.type = "fp16", .dim = dim});
  }
  for (const std::int64_t rows : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    for (const std::int64_t zipf : {0, 50, 80, 100, 120}) {
      for (const std::int64_t pooling : {1, 8, 32, 100}) {
        grid.add({.rows = rows, .pooling = pooling, .zipf_percent = zipf});
      }
    }
  }
  for (const std::int64_t batch : {256, 512, 2048, 8192, 32768}) {
    for (const std::int64_t pooling : {1, 8, 32}) {
      for (const std::int64_t dim : {32, 128}) {
        grid.add({.dim = dim, .batch = batch, .pooling = pooling});
      }
    }
  }
}

std::vector<GridPoint> embedding_grid(const MachineLimits& limits, Extent extent) {
  EmbeddingGrid grid{limits};
  add_quick(grid);
  if (extent == Extent::Full) {
    add_full(grid);
  }
  return std::move(grid).points();
}

/// Bytes that cross the memory bus where no row is found in a cache: rows, gradients or outputs, 64-bit
/// indices.
double bytes_without_reuse(const GridPoint& point) {
  const std::int64_t bags = point.integer("tables") * point.integer("batch");
  const std::int64_t indices = bags * point.integer("pooling");
  const std::int64_t width = point.integer("dim") * bytes_of_type(point.text("type"));
  if (point.text("pass") == "sort") {
    return static_cast<double>(indices * 2 * (8 + 4));  // key and bag, read and written at least once
  }
  const std::int64_t outputs = bags * point.integer("dim") * 4;
  const std::int64_t rows = indices * width;
  return static_cast<double>(point.text("pass") == "forward"
                                 ? rows + outputs + indices * 8
                                 : 2 * rows + indices * (8 + 4 + point.integer("dim") * 4));
}

}  // namespace

Family embedding_family() {
  return {
      .name = "embedding",
      .what =
          "lookups of several embedding tables: forward, sort, backward with row-wise Adagrad; skewed rows",
      .parameters = {"pass", "type", "tables", "rows", "dim", "batch", "pooling", "zipf_percent"},
      .facts = {"unique_rows"},
      .rates = {"gb_per_s_without_reuse"},
      .grid = embedding_grid,
      .rates_of =
          [](const GridPoint& point, Seconds time) {
            return std::vector<double>{Bytes{bytes_without_reuse(point)} / time / BytesPerSecond{1e9}};
          },
      .quick_point = Seconds{0.04},
      .full_point = Seconds{0.035}};
}

}  // namespace lockstep
