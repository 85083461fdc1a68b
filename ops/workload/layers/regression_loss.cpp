#include "ops/workload/layers/regression_loss.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kType = DataType::FP32;  // autocast too computes losses in FP32

}  // namespace

void regression_loss_forward(StepWriter& step, DlrmLoss loss, std::int64_t rows) {
  const KernelCall mean = kernels::reduce("mean", {.rows = 1, .columns = rows}, kType);
  if (loss == DlrmLoss::MeanSquaredError) {
    step.op("aten::mse_loss", {kernels::elementwise("mse", rows, kType, {.reads = 2, .flops = 3}), mean});
  } else if (loss == DlrmLoss::BinaryCrossEntropyWithLogits) {  // mean((1 - target) x - log sigmoid(x))
    step.op(
        "aten::binary_cross_entropy_with_logits",
        {kernels::elementwise("log_sigmoid_forward", rows, kType, {.flops = 4}), kernels::fill(rows, kType),
         kernels::add(rows, kType), kernels::mul(rows, kType), kernels::add(rows, kType), mean});
  } else {
    step.op("aten::binary_cross_entropy",
            {kernels::elementwise("binary_cross_entropy", rows, kType, {.reads = 2, .flops = 7}), mean});
  }
}

void regression_loss_backward(StepWriter& step, DlrmLoss loss, std::int64_t rows) {
  if (loss == DlrmLoss::MeanSquaredError) {
    step.op("MseLossBackward0", {kernels::fill(rows, kType), kernels::elementwise("mse_backward", rows, kType,
                                                                                  {.reads = 2, .flops = 2})});
  } else if (loss == DlrmLoss::BinaryCrossEntropyWithLogits) {  // (sigmoid(x) - target) x gradient / rows
    step.op("BinaryCrossEntropyWithLogitsBackward0",
            {kernels::elementwise("sigmoid", rows, kType, {.flops = 4}), kernels::add(rows, kType),
             kernels::by_offsets("mul", rows, kType, {.reads = 1}), kernels::scale(rows, kType)});
  } else {
    step.op("BinaryCrossEntropyBackward0",
            {kernels::elementwise("binary_cross_entropy_backward", rows, kType, {.reads = 2, .flops = 4}),
             kernels::scale(rows, kType)});
  }
}

}  // namespace lockstep
