// Predicted against measured: the kernels of DLRM_MLPerf and DLRM_default, batch 2048, on a V100 locked at
// 1297 MHz (traces printed by Lin et al.; whole microseconds, so kernels from 5 us on).

#include <gtest/gtest.h>

#include <optional>

#include "error_table.hpp"
#include "measured_csv.hpp"

namespace lockstep::validation {
namespace {

using namespace lockstep::literals;

constexpr const char* kGpu = "v100_16gb_locked_1297mhz";
using Shape = std::vector<std::int64_t>;

/// "((2048, 512), (512,), ())" -> {{2048, 512}, {512}, {}}
std::vector<Shape> shapes_in(const std::string& text) {
  std::vector<Shape> shapes;
  if (!text.starts_with("((")) return shapes;  // not recorded
  std::string number;
  int depth = 0;
  for (const char c : text) {
    if (c == '(' && ++depth == 2) shapes.emplace_back();
    if (c >= '0' && c <= '9') {
      number += c;
    } else if (!number.empty() && !shapes.empty()) {
      shapes.back().push_back(std::stoll(number));
      number.clear();
    }
    if (c == ')') --depth;
  }
  return shapes;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::optional<KernelWork> product_of(const std::vector<Shape>& shapes) {
  std::vector<Shape> matrices;
  for (const Shape& shape : shapes) {
    if (shape.size() >= 2) matrices.push_back(shape);
  }
  if (matrices.size() < 2) return std::nullopt;
  const Shape &a = matrices[0], &b = matrices[1];
  if (a.size() == 3) return Gemm{a[0], a[1], b[2], a[2]};
  return Gemm{1, a[0], b[1], a[1]};
}

/// The work of a row's kernel, where its operator and shapes tell.
std::optional<KernelWork> work_of(const std::string& operation, const std::string& kernel,
                                  const std::vector<Shape>& shapes) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  if (has(kernel, "sgemm")) return product_of(shapes);
  if (shapes.empty()) return std::nullopt;
  const std::int64_t size = elements(shapes.front());
  if (operation == "aten::relu") return Pointwise{size, 1, 1};
  if (operation == "ReluBackward0") return Pointwise{size, 2, 1};
  if (has(operation, "SGD.zero_grad")) return Pointwise{size, 0, 1};
  if (has(operation, "SGD.step") || has(operation, "AccumulateGrad")) return Pointwise{size, 2, 1, 2};
  const bool backward = has(kernel, "indexing_backward");
  if (backward || has(kernel, "index_elementwise")) {
    return TriangularIndex{shapes[0][0], shapes[0][1], false,
                           backward ? Direction::Backward : Direction::Forward};
  }
  return std::nullopt;
}

TEST(DlrmOnV100, kernels_of_known_shape) {
  const auto path = measurements() / "kernels/iteration_kernel_traces_v100.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no measurements at " << path;
  std::map<std::string, ErrorTable> families;
  for (CsvRow& row : read_csv(path)) {
    const Seconds measured{std::stod(row["time_us"]) * 1e-6 / std::stod(row["count"])};
    const auto shapes = shapes_in(row["input_shapes"]);
    const auto work = work_of(row["op"], row["kernel"], shapes);
    if (!work || measured < 5_us) continue;
    const bool batched = std::holds_alternative<Gemm>(*work) && std::get<Gemm>(*work).batch > 1;
    const std::string family =
        fmt::format("DLRM {}", batched                                    ? "bmm"
                               : std::holds_alternative<Gemm>(*work)      ? "gemm"
                               : std::holds_alternative<Pointwise>(*work) ? "pointwise"
                                                                          : "triangular index");
    families.try_emplace(family, family, kGpu)
        .first->second.add({row["kernel"], DataType::FP32, *work}, measured);
  }
  ASSERT_EQ(families.size(), 4U);
  for (const auto& [name, errors] : families) {
    errors.print();
    EXPECT_LT(errors.mean(), 0.30) << name;
  }
}

// DLRM_default, batch 2048: 8 tables of 1e6 rows, dimension 64, 100 lookups a bag.
TEST(DlrmOnV100, embedding_of_dlrm_default) {
  const auto path = measurements() / "embedding/v100_dlrm_multi_table_embedding_costs.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no measurements at " << path;
  ErrorTable forward{"embedding forward", kGpu}, backward{"embedding backward", kGpu};
  for (CsvRow& row : read_csv(path)) {
    if (row["model"] != "DLRM_default") continue;
    EmbeddingBags bags{std::stoll(row["batch"]), {}};
    bags.tables.assign(std::stoul(row["num_tables"]), {std::stoll(row["rows_per_table"]),
                                                       std::stoll(row["dim"]), std::stod(row["pooling"])});
    forward.add({"lookup", DataType::FP32, bags}, Seconds{std::stod(row["fwd_us"]) * 1e-6});
    bags.direction = Direction::Backward;
    backward.add({"update", DataType::FP32, bags}, Seconds{std::stod(row["bwd_us"]) * 1e-6});
  }
  ASSERT_EQ(forward.count(), 2);
  forward.print();
  backward.print();
  EXPECT_LT(forward.mean(), 0.20);
  EXPECT_LT(backward.mean(), 0.30);
}

// nvprof runs with uniform indices: small lookups again and again, atomic updates of 8 GB of tables.
TEST(DlrmOnV100, embedding_samples) {
  const auto path = measurements() / "embedding/embedding_kernel_samples_v100.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no measurements at " << path;
  ErrorTable forward{"embedding forward (samples)", kGpu}, backward{"embedding backward (samples)", kGpu};
  for (CsvRow& row : read_csv(path)) {
    const bool is_forward = row["variant"].starts_with("forward");
    EmbeddingBags bags{std::stoll(row["batch_size"]), {}};
    bags.direction = is_forward ? Direction::Forward : Direction::Backward;
    bags.repeated = is_forward;
    bags.atomic = !is_forward;
    bags.tables.assign(
        std::stoul(row["num_tables"]),
        {std::stoll(row["num_embeddings"]), std::stoll(row["embedding_dim"]), std::stod(row["bag_size"])});
    (is_forward ? forward : backward)
        .add({"sample", DataType::FP32, bags}, Seconds{std::stod(row["kernel_runtime"]) * 1e-6});
  }
  ASSERT_GT(forward.count(), 0);
  ASSERT_GT(backward.count(), 0);
  forward.print();
  backward.print();
  EXPECT_LT(forward.mean(), 0.2);
  EXPECT_LT(backward.mean(), 0.4);
}

}  // namespace
}  // namespace lockstep::validation
