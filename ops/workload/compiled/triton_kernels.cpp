#include "ops/workload/compiled/triton_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lockstep::triton {
namespace {

constexpr std::int64_t kPersistent = 1024;  // longest row that a block holds
constexpr std::int64_t kRowsOfAPiece = 128;
constexpr std::int64_t kMostPieces = 64;
constexpr std::int64_t kColumnsEnough = 16384;  // see sum_columns(): between 3,072 and 30,522

std::string reduction_name(std::string_view what, std::int64_t columns) {
  return fmt::format("triton_{}_fused_{}", columns <= kPersistent ? "per" : "red", what);
}

}  // namespace

KernelCall pointwise(std::string_view what, std::int64_t elements, DataType type, kernels::Passes passes) {
  return {
      fmt::format("triton_poi_fused_{}", what), type,
      Pointwise{.elements = elements, .reads = passes.reads, .writes = passes.writes, .flops = passes.flops}};
}

KernelCall over_rows(std::string_view what, const Softmax& work, DataType type) {
  return {reduction_name(what, work.columns), type, work};
}

KernelCall over_rows(std::string_view what, const LayerNorm& work, DataType type) {
  return {reduction_name(what, work.columns), type, work};
}

void sum_columns(StepWriter& step, std::int64_t rows, std::int64_t columns, DataType type) {
  step.launch({"triton_red_fused_sum", type, Pointwise{.elements = rows * columns, .reads = 1, .writes = 0}});
  if (columns < kColumnsEnough) {
    sum_pieces(step, rows, columns);
  }
}

void sum_pieces(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  const std::int64_t pieces = std::clamp(rows / kRowsOfAPiece, std::int64_t{1}, kMostPieces);
  step.launch(
      {"triton_per_fused_sum", DataType::FP32,
       Pointwise{.elements = pieces * columns, .reads = 1, .writes = 1.0 / static_cast<double>(pieces)}});
}

KernelCall online_softmax(std::int64_t rows, std::int64_t classes, DataType logits) {
  const double narrow = size_of(logits) / size_of(DataType::FP32);
  return over_rows("_log_softmax_prepare_softmax_online",
                   Softmax{.rows = rows, .columns = classes, .logarithm = true, .fused = {narrow, 0, 0}},
                   DataType::FP32);
}

KernelCall online_softmax_gradient(std::int64_t rows, std::int64_t classes, DataType logits, double reads) {
  const double narrow = size_of(logits) / size_of(DataType::FP32);
  return over_rows("_log_softmax__log_softmax_backward_data_nll_loss_backward",
                   Softmax{.rows = rows,
                           .columns = classes,
                           .direction = Direction::Backward,
                           .logarithm = true,
                           .fused = {narrow * (1 + reads), narrow, 0}},
                   DataType::FP32);
}

KernelCall mean_of_picks(std::int64_t rows) {
  return {"triton_per_fused_nll_loss_forward", DataType::FP32,
          Pointwise{.elements = rows, .reads = 3, .writes = 0, .flops = 2}};
}

std::int64_t padded_for_tensor_cores(std::int64_t elements, DataType product) {
  if (product == DataType::FP32) {
    return elements;
  }
  const std::int64_t multiple = product == DataType::TF32 ? 4 : 8;
  return (elements + multiple - 1) / multiple * multiple;
}

}  // namespace lockstep::triton
