#include "ops/workload/bert_adam.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/loss_scaling.hpp"

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
/// again, limit / (norm + 1e-6), and what is made of it.
void clip(StepWriter& step, std::int64_t elements) {
  const DataType type = step.types().optimizer();
  step.op("aten::norm", {kernels::reduce("norm", {.rows = 1, .columns = elements}, type)});
  step.op("aten::stack", {kernels::concat(1, 1, type)});
  step.op("aten::norm", {kernels::reduce("norm", {.rows = 1, .columns = 1}, type)});
  clip_by_norm(step, [&] { step.op("aten::mul_", {kernels::scale(elements, type)}); });
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
