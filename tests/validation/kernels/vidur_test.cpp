// Predicted against measured: FP16 products of transformer layers on A100 and H100 (vidur).

#include <gtest/gtest.h>

#include "error_table.hpp"
#include "measured_csv.hpp"

namespace lockstep::validation {
namespace {

/// Columns and depth of one product of a layer, by the name of its time column.
struct Product {
  const char* name;
  std::int64_t columns, depth;
};

std::vector<Product> products_of(CsvRow& row) {
  const std::int64_t split = std::stoll(row["num_tensor_parallel_workers"]);
  const std::int64_t width = std::stoll(row["n_embd"]), wide = std::stoll(row["n_expanded_embd"]);
  const std::int64_t heads = std::stoll(row["n_head"]), key_heads = std::stoll(row["n_kv_head"]);
  const std::int64_t projected = (heads + 2 * key_heads) * (width / heads);
  const std::int64_t up = (row["use_gated_mlp"] == "True" ? 2 : 1) * wide;
  return {{"attn_pre_proj", projected / split, width},
          {"attn_post_proj", width, width / split},
          {"mlp_up_proj", up / split, width},
          {"mlp_down_proj", width, wide / split}};
}

void validate(const std::string& folder, const std::string& gpu, double bound) {
  const auto path = measurements() / "kernels/vidur_mlp" / folder;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no measurements at " << path;
  ErrorTable errors{"gemm FP16", gpu};
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    for (CsvRow& row : read_csv(file.path())) {
      for (const Product& product : products_of(row)) {
        const std::string& milliseconds = row[fmt::format("time_stats.{}.median", product.name)];
        if (milliseconds.empty()) continue;
        const Gemm gemm{1, std::stoll(row["num_tokens"]), product.columns, product.depth};
        errors.add({product.name, DataType::FP16, gemm}, Seconds{std::stod(milliseconds) * 1e-3});
      }
    }
  }
  ASSERT_GT(errors.count(), 1000);
  errors.print();
  EXPECT_LT(errors.mean(), bound);
}

TEST(Vidur, products_on_a100) {
  validate("a100", "a100_80gb", 0.12);
}
TEST(Vidur, products_on_h100) {
  validate("h100", "h100_80gb_boost", 0.15);
}

}  // namespace
}  // namespace lockstep::validation
