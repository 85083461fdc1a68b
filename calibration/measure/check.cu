#include "calibration/measure/check.cuh"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibration/measure/check_embedding.cuh"
#include "calibration/measure/families/elementwise.cuh"
#include "calibration/measure/families/normalisation.cuh"
#include "calibration/measure/families/product.cuh"
#include "calibration/measure/families/reduction.cuh"
#include "calibration/measure/host_copy.cuh"

namespace lockstep {
namespace {

using Numbers = std::vector<double>;

void run(const Gpu& gpu, const Launch& launch) {
  launch(gpu.stream());
  LOCKSTEP_CHECK(cudaStreamSynchronize(gpu.stream()));
}

double expected_element(const std::string& operation, double x, double y, double bias) {
  const double below = 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  if (operation == "relu") {
    return std::max(x, 0.0);
  }
  if (operation == "gelu") {
    return x * below;
  }
  if (operation == "gelu_backward") {
    return y * (below + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)));
  }
  if (operation == "tanh") {
    return std::tanh(x);
  }
  return operation == "add" ? x + y : operation == "bias_add" ? x + bias : x;
}

void check_elementwise(const Gpu& gpu, const std::string& type, HostComparison& comparison) {
  constexpr std::int64_t kElements = 5 * 1024;
  for (const char* operation : {"relu", "gelu", "gelu_backward", "tanh", "add", "bias_add", "to_fp32"}) {
    const Elementwise e = elementwise(operation, type, kElements);
    const Numbers x = on_host(*e.x, type, kElements);
    const Numbers y = on_host(*e.y, type, kElements);
    run(gpu, e.launch);
    Numbers expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected[i] = expected_element(operation, x[i], y[i], y[i % 1024]);
    }
    const std::string results = std::string{operation} == "to_fp32" ? "fp32" : type;
    comparison.compare(operation, type, on_host(*e.result, results, kElements), expected);
  }
}

void check_reductions(const Gpu& gpu, const std::string& type, HostComparison& comparison) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kColumns = 384;
  for (const std::string operation : {"sum_of_row", "sum_of_column", "sum_of_all"}) {
    const ReductionArrays r = reduction(operation, type, kRows, kColumns);
    const Numbers x = on_host(*r.x, type, kRows * kColumns);
    run(gpu, r.launch);
    Numbers expected(static_cast<std::size_t>(operation == "sum_of_row"      ? kRows
                                              : operation == "sum_of_column" ? kColumns
                                                                             : 1));
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected[operation == "sum_of_row"      ? i / kColumns
               : operation == "sum_of_column" ? i % kColumns
                                              : 0] += x[i];
    }
    // Positive and negative numbers cancel: the order of FP32 additions shows.
    comparison.compare(operation + " of", type == "fp32" ? "tf32" : type,
                       on_host(*r.sums, "fp32", static_cast<std::int64_t>(expected.size())), expected);
  }
}

/// One row of a normalisation.
Numbers expected_row(const std::string& operation, const Numbers& x, const Numbers& dy, const Numbers& weight,
                     const Numbers& bias) {
  const auto columns = static_cast<double>(x.size());
  Numbers result(x.size());
  if (operation == "softmax") {
    std::transform(x.begin(), x.end(), result.begin(), [](double v) { return std::exp(v); });
    const double sum = std::accumulate(result.begin(), result.end(), 0.0);
    std::transform(result.begin(), result.end(), result.begin(), [&](double v) { return v / sum; });
    return result;
  }
  const bool is_softmax = operation == "softmax_backward";
  double mean = 0;
  double product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double g = is_softmax ? dy[i] : dy[i] * weight[i];
    mean += (operation == "layer_norm" ? x[i] : g) / columns;
    product += is_softmax ? g * x[i] : g * x[i] / columns;
  }
  double variance = 0;
  for (const double v : x) {
    variance += (v - mean) * (v - mean) / columns;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    result[i] = operation == "layer_norm" ? (x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]
                : is_softmax              ? x[i] * (dy[i] - product)
                                          : dy[i] * weight[i] - mean - x[i] * product;
  }
  return result;
}

void check_normalisation(const Gpu& gpu, const std::string& type, std::int64_t columns,
                         HostComparison& comparison) {
  constexpr std::int64_t kRows = 37;
  const Numbers weight = on_host(*random_numbers(type, columns, 4), type, columns);
  const Numbers bias = on_host(*random_numbers(type, columns, 5), type, columns);
  for (const std::string operation : {"softmax", "softmax_backward", "layer_norm", "layer_norm_backward"}) {
    const NormalisationArrays n = normalisation(operation, type, kRows, columns);
    run(gpu, n.launch);
    const Numbers x = on_host(*n.x, type, kRows * columns);
    const Numbers dy = on_host(*n.dy, type, kRows * columns);
    Numbers expected;
    Numbers gradient(static_cast<std::size_t>(2 * columns));
    for (auto row = x.begin(); row != x.end(); row += columns) {
      const auto row_dy = dy.begin() + (row - x.begin());
      const Numbers one =
          expected_row(operation, {row, row + columns}, {row_dy, row_dy + columns}, weight, bias);
      expected.insert(expected.end(), one.begin(), one.end());
      for (std::int64_t i = 0; i < columns; ++i) {
        gradient[static_cast<std::size_t>(i)] += row[i] * row_dy[i];
        gradient[static_cast<std::size_t>(columns + i)] += row_dy[i];
      }
    }
    comparison.compare(operation + " of", type, on_host(*n.result, type, kRows * columns), expected);
    if (operation == "layer_norm_backward") {
      comparison.compare("gradient of layer_norm's weight and bias of", type,
                         on_host(*n.gradient, "fp32", 2 * columns), gradient);
    }
  }
}

void check_products(const Gpu& gpu, const std::string& type, const std::string& library,
                    HostComparison& comparison) {
  constexpr std::int64_t kM = 48;
  constexpr std::int64_t kN = 80;
  constexpr std::int64_t kK = 64;
  constexpr std::int64_t kBatch = 3;
  for (const std::string layout : {"nn", "nt", "tn"}) {
    for (const std::int64_t batch : {std::int64_t{1}, library == "cublas" ? kBatch : 1}) {
      GridPoint point;
      point.set("type", type)
          .set("layout", layout)
          .set("batch", batch)
          .set("m", kM)
          .set("n", kN)
          .set("k", kK);
      const Product p = product_of(point);
      const Numbers a = on_host(*p.a, type, batch * kM * kK);
      const Numbers b = on_host(*p.b, type, batch * kK * kN);
      run(gpu, gemm_launch(gpu, p, library));
      Numbers expected(static_cast<std::size_t>(batch * kM * kN));
      for (std::int64_t i = 0; i < batch * kM * kN; ++i) {
        const std::int64_t which = i / (kM * kN);
        const std::int64_t row = i / kN % kM;
        const std::int64_t column = i % kN;
        for (std::int64_t k = 0; k < kK; ++k) {
          const std::int64_t of_a = layout[0] == 't' ? k * kM + row : row * kK + k;
          const std::int64_t of_b = layout[1] == 't' ? column * kK + k : k * kN + column;
          expected[static_cast<std::size_t>(i)] += a[static_cast<std::size_t>(which * kM * kK + of_a)] *
                                                   b[static_cast<std::size_t>(which * kK * kN + of_b)];
        }
      }
      comparison.compare(library + " " + layout + (batch > 1 ? " batched" : "") + " of", type,
                         on_host(*p.c, type, batch * kM * kN), expected);
    }
  }
}

}  // namespace

bool check_kernels(const Gpu& gpu, const std::function<void(const std::string&)>& tell) {
  HostComparison comparison{tell};
  for (const std::string type : {"fp32", "fp16", "bf16"}) {
    check_elementwise(gpu, type, comparison);
    check_reductions(gpu, type, comparison);
    for (const std::int64_t columns : {64, 1024, 4096}) {
      check_normalisation(gpu, type, columns, comparison);
    }
  }
  for (const std::string type : {"fp32", "tf32", "fp16", "bf16"}) {
    for (const std::string library : {"cublas", "cublaslt"}) {
      check_products(gpu, type, library, comparison);
    }
  }
  check_embeddings(gpu, comparison);
  tell(comparison.all_agree() ? "all agree" : "some differ");
  return comparison.all_agree();
}

}  // namespace lockstep
