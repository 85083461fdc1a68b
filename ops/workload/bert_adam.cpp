#include "ops/workload/bert_adam.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// One operator with one element-wise kernel.
struct AdamOperator {
  const char* op;
  const char* kernel;
  kernels::Passes passes;
};

constexpr AdamOperator kMoments[] = {
    {"aten::mul_", "mul", {}},         {"aten::add_", "add", {.reads = 2, .flops = 2}},
    {"aten::mul_", "mul", {}},         {"aten::addcmul_", "addcmul", {.reads = 2, .flops = 3}},
    {"aten::sqrt", "sqrt", {}},        {"aten::add", "add", {}},
    {"aten::div", "div", {.reads = 2}}};
constexpr AdamOperator kDecay[] = {{"aten::mul", "mul", {}}, {"aten::add_", "add", {.reads = 2}}};
constexpr AdamOperator kSubtract[] = {
    {"aten::mul", "mul", {}}, {"aten::neg", "neg", {}}, {"aten::add_", "add", {.reads = 2}}};

void write(StepWriter& step, std::span<const AdamOperator> operations, std::int64_t elements) {
  for (const AdamOperator& each : operations) {
    step.op(each.op, {kernels::elementwise(each.kernel, elements, step.types().optimizer(), each.passes)});
  }
}

/// torch.nn.utils.clip_grad_norm_ of one parameter: its norm, put into a list of one and its norm taken
/// again, limit / (norm + 1e-6), and `if clip_coef < 1:`, for which the host waits.
void clip(StepWriter& step, std::int64_t elements) {
  const DataType type = step.types().optimizer();
  step.op("aten::norm", {kernels::reduce("norm", {.rows = 1, .columns = elements}, type)});
  step.op("aten::stack", {kernels::concat(1, 1, type)});
  step.op("aten::norm", {kernels::reduce("norm", {.rows = 1, .columns = 1}, type)});
  for (const char* const scalar : {"aten::add", "aten::reciprocal", "aten::mul", "aten::lt"}) {
    step.op(scalar, {kernels::scale(1, type)});
  }
  step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::BOOL), false));
}

}  // namespace

void bert_adam_step(StepWriter& step, std::span<const std::int64_t> parameters,
                    const std::function<bool(std::int64_t elements)>& decays) {
  const ModuleRange range{step, "Optimizer.step#BertAdam.step"};
  for (const std::int64_t elements : parameters) {
    clip(step, elements);
    write(step, kMoments, elements);
    if (!decays || decays(elements)) {
      write(step, kDecay, elements);
    }
    write(step, kSubtract, elements);
  }
}

}  // namespace lockstep
