/// @file
/// C[m,n] = A[m,k] B[k,n], row-major as PyTorch has it. The layout says which operand is stored transposed, A
/// first: a linear layer is nt forward (weights are stored [out, in]), nn for the gradient of its input, tn
/// for that of its weights.

#include "calibration/measure/grids/grids.hpp"

namespace lockstep {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

class GemmGrid {
 public:
  explicit GemmGrid(const MachineLimits& limits) : limits_{limits} {}

  GemmGrid& layout(const char* layout) { return layout_ = layout, *this; }
  GemmGrid& library(const char* library) { return library_ = library, *this; }
  GemmGrid& batch(std::int64_t batch) { return batch_ = batch, *this; }
  GemmGrid& cache(const char* cache) { return cache_ = cache, *this; }

  /// Adds the point if the machine has the type and it is neither too large nor too long.
  void add(const std::string& type, Shape shape) {
    if (has_type(limits_, type) && fits(type, shape)) {
      points_.add(GridPoint{}
                      .set("type", type)
                      .set("layout", layout_)
                      .set("library", library_)
                      .set("cache", cache_)
                      .set("batch", batch_)
                      .set("m", shape.m)
                      .set("n", shape.n)
                      .set("k", shape.k));
    }
  }
  [[nodiscard]] std::vector<GridPoint> points() && { return std::move(points_).points(); }

 private:
  [[nodiscard]] bool fits(const std::string& type, Shape shape) const {
    const auto [m, n, k] = shape;
    const double most = type == "fp32" ? 1.2e12 : 1e13;  // 20 ms at the 60 TFLOP/s of an H100's FP32
    const double flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k * batch_);
    const auto elements = static_cast<double>(batch_) * static_cast<double>(m * k + k * n + m * n);
    return flops <= most && elements * static_cast<double>(bytes_of_type(type)) <= limits_.memory / Bytes{4};
  }

  const MachineLimits& limits_;
  const char* layout_ = "nn";
  const char* library_ = "cublas";
  const char* cache_ = "cold";
  std::int64_t batch_ = 1;
  PointSet points_;
};

void add_type(GemmGrid& grid, const std::string& type, Shape shape) {
  // FP8 is in cuBLASLt only, and only with both operands contiguous along k.
  if (type == "fp8") {
    grid.layout("nt").library("cublaslt").add(type, shape);
  } else {
    grid.layout("nn").library("cublas").add(type, shape);
  }
}

/// Every combination of a few sizes: the regimes between memory-bound, latency-bound and compute-bound.
void add_cubes(GemmGrid& grid, Extent extent) {
  const std::vector<std::int64_t> sizes =
      extent == Extent::Quick ? geometric(256, 4096, 4) : geometric(64, 16384, 4);
  for (const char* type : {"fp32", "tf32", "fp16", "bf16", "fp8"}) {
    for (const std::int64_t m : sizes) {
      for (const std::int64_t n : sizes) {
        for (const std::int64_t k : sizes) {
          add_type(grid, type, {m, n, k});
        }
      }
    }
  }
}

/// The four products of a transformer layer, forward, and of large ones backward.
void add_transformers(GemmGrid& grid, Extent extent) {
  const bool quick = extent == Extent::Quick;
  for (const std::int64_t hidden : quick ? geometric(1024, 4096, 4) : geometric(1024, 8192, 2)) {
    for (const std::int64_t tokens :
         quick ? std::vector<std::int64_t>{16, 2048} : std::vector<std::int64_t>{1, 16, 256, 2048, 8192}) {
      for (const Shape shape : {Shape{tokens, 3 * hidden, hidden}, Shape{tokens, hidden, hidden},
                                Shape{tokens, 4 * hidden, hidden}, Shape{tokens, hidden, 4 * hidden}}) {
        grid.layout("nt").library("cublas").add("fp16", shape);
        grid.layout("nt").library("cublaslt").add("bf16", shape);
        if (!quick && tokens >= 2048) {
          grid.layout("nn").library("cublas").add("fp16", shape);
          grid.layout("tn").library("cublas").add("fp16", {shape.n, shape.k, shape.m});
        }
      }
    }
  }
}

/// The layers of recommendation models (DLRM of MLPerf and of its paper, arXiv 1906.00091).
void add_recommendation(GemmGrid& grid, Extent extent) {
  const bool quick = extent == Extent::Quick;
  constexpr std::int64_t kLayers[][2] = {{13, 512},    {512, 256},  {256, 128}, {479, 1024},
                                         {1024, 1024}, {1024, 512}, {512, 256}, {256, 1}};
  for (const std::int64_t batch : quick ? geometric(2048, 2048, 2) : geometric(512, 32768, 4)) {
    for (const auto& [in, out] : kLayers) {
      for (const char* type : {"fp32", "tf32", "fp16"}) {
        grid.layout("nt").library("cublas").add(type, {batch, out, in});
        if (!quick) {
          grid.layout("nn").add(type, {batch, in, out});
          grid.layout("tn").add(type, {out, in, batch});
        }
      }
    }
  }
}

/// Waves of tiles over the multiprocessors, misaligned rows, and long sums over few outputs (split-K).
void add_edges(GemmGrid& grid) {
  grid.layout("nn").library("cublas");
  for (std::int64_t m = 512; m <= 12288; m += 512) {
    grid.add("fp16", {m, 4096, 4096});
  }
  for (const char* type : {"fp32", "tf32", "fp16", "bf16"}) {
    for (const std::int64_t k : {4096, 4095, 4094, 4092, 4088, 4080}) {
      grid.add(type, {2048, k, 2048});
      grid.add(type, {2048, 2048, k});
    }
    for (const std::int64_t side : {32, 128, 512}) {
      grid.add(type, {side, side, 16384});
      grid.add(type, {side, side, 131072});
    }
  }
}

/// Attention's products of queries and keys, and of scores and values; the pairwise products of
/// recommendation models.
void add_batched(GemmGrid& grid, Extent extent) {
  const bool quick = extent == Extent::Quick;
  grid.library("cublas");
  for (const std::int64_t batch : quick ? geometric(256, 256, 2) : geometric(16, 1024, 4)) {
    for (const std::int64_t length : quick ? geometric(512, 512, 2) : geometric(128, 2048, 4)) {
      for (const std::int64_t head : {64, 128}) {
        for (const char* type : {"fp16", "bf16", "tf32", "fp32"}) {
          grid.batch(batch).layout("nt").add(type, {length, length, head});
          grid.batch(batch).layout("nn").add(type, {length, head, length});
        }
      }
    }
  }
  for (const std::int64_t batch : quick ? geometric(2048, 2048, 2) : geometric(512, 32768, 4)) {
    for (const char* type : {"fp32", "tf32", "fp16"}) {
      grid.batch(batch).layout("nt").add(type, {27, 27, 128});
      grid.batch(batch).layout("nt").add(type, {9, 9, 64});
    }
  }
  grid.batch(1);
}

std::vector<GridPoint> gemm_grid(const MachineLimits& limits, Extent extent) {
  GemmGrid grid{limits};
  add_cubes(grid, extent);
  add_transformers(grid, extent);
  add_recommendation(grid, extent);
  add_batched(grid, extent);
  grid.cache("warm").layout("nn").library("cublas");
  for (const std::int64_t side : extent == Extent::Quick ? geometric(256, 1024, 4) : geometric(64, 4096, 2)) {
    grid.add("fp16", {side, side, side});
    grid.add("fp32", {side, side, side});
  }
  if (extent == Extent::Full) {
    grid.cache("cold");
    add_edges(grid);
  }
  return std::move(grid).points();
}

}  // namespace

Family gemm_family() {
  return {.name = "gemm",
          .what = "matrix products, plain and batched: FP32, TF32, FP16, BF16, FP8",
          .parameters = {"type", "layout", "library", "cache", "batch", "m", "n", "k"},
          .facts = {},
          .rates = {"tflops"},
          .grid = gemm_grid,
          .rates_of =
              [](const GridPoint& point, Seconds time) {
                const double flops = 2.0 * static_cast<double>(point.integer("batch") * point.integer("m")) *
                                     static_cast<double>(point.integer("n") * point.integer("k"));
                return std::vector<double>{Flops{flops} / time / FlopsPerSecond{1e12}};
              },
          .quick_point = Seconds{0.018},
          .full_point = Seconds{0.025}};
}

}  // namespace lockstep
