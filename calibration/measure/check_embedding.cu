#include "calibration/measure/check_embedding.cuh"

#include <cmath>

#include "calibration/measure/families/embedding.cuh"

namespace lockstep {
namespace {

using Numbers = std::vector<double>;

/// Offsets of a lookup's row in the weights and of its bag in the gradients.
struct Place {
  std::size_t row, weights, bag;
};

Place place_of(const EmbeddingTables& t, std::size_t look_up) {
  const auto bag = static_cast<std::int64_t>(look_up) / t.pooling;
  const std::int64_t row = bag / t.batch * t.rows + t.drawn[look_up];
  return {static_cast<std::size_t>(row), static_cast<std::size_t>(row * t.dim),
          static_cast<std::size_t>(bag * t.dim)};
}

Numbers expected_output(const EmbeddingTables& t, const Numbers& weights) {
  Numbers output(static_cast<std::size_t>(t.bags() * t.dim));
  for (std::size_t i = 0; i < t.drawn.size(); ++i) {
    const Place at = place_of(t, i);
    for (std::size_t column = 0; column < static_cast<std::size_t>(t.dim); ++column) {
      output[at.bag + column] += weights[at.weights + column];
    }
  }
  return output;
}

/// By how much row-wise Adagrad moves each weight in the first step.
Numbers expected_change(const EmbeddingTables& t, const Numbers& gradient) {
  const auto dim = static_cast<std::size_t>(t.dim);
  Numbers sum(static_cast<std::size_t>(t.tables * t.rows) * dim);
  for (std::size_t i = 0; i < t.drawn.size(); ++i) {
    const Place at = place_of(t, i);
    for (std::size_t column = 0; column < dim; ++column) {
      sum[at.weights + column] += gradient[at.bag + column];
    }
  }
  for (std::size_t row = 0; row < sum.size(); row += dim) {
    double squares = 0;
    for (std::size_t column = 0; column < dim; ++column) {
      squares += sum[row + column] * sum[row + column];
    }
    const double rate = kLearningRate / (std::sqrt(squares / static_cast<double>(dim)) + kAdagradEpsilon);
    for (std::size_t column = 0; column < dim; ++column) {
      sum[row + column] *= squares > 0 ? -rate : 0;
    }
  }
  return sum;
}

void check_tables(const Gpu& gpu, const std::string& type, std::int64_t dim, HostComparison& comparison) {
  GridPoint point;
  point.set("pass", "check").set("type", type).set("tables", 3).set("rows", 200).set("dim", dim);
  point.set("batch", 100).set("pooling", 7).set("zipf_percent", 110);
  const auto tables = embedding_tables(point);
  const std::int64_t weights = tables->tables * tables->rows * dim;
  const Numbers before = on_host(*tables->weights, type, weights);
  embedding_forward(tables)(gpu.stream());
  const SortedLookups sorted = memory_for_sorting(*tables);
  embedding_sort(tables, sorted)(gpu.stream());
  embedding_update(tables, sorted)(gpu.stream());
  LOCKSTEP_CHECK(cudaStreamSynchronize(gpu.stream()));
  const std::string what = "embedding, dim " + std::to_string(dim) + ", ";
  const std::int64_t outputs = tables->bags() * dim;
  comparison.compare(what + "forward", "fp32", on_host(*tables->output, "fp32", outputs),
                     expected_output(*tables, before));
  Numbers expected = expected_change(*tables, on_host(*tables->gradient, "fp32", outputs));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += before[i];
  }
  comparison.compare(what + "update", type, on_host(*tables->weights, type, weights), expected);
}

}  // namespace

void check_embeddings(const Gpu& gpu, HostComparison& comparison) {
  for (const std::string type : {"fp32", "fp16"}) {
    for (const std::int64_t dim : {4, 16, 20, 32, 64, 128, 256, 512}) {
      check_tables(gpu, type, dim, comparison);
    }
  }
}

}  // namespace lockstep
