#include "ops/workload/optimizer_step.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>

#include "ops/workload/bert_adam.hpp"
#include "ops/workload/lamb.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

/// One arithmetic operation of an optimizer: what it is, how many lists of tensors it takes, and its passes
/// over memory in tensors of the parameter's size.
struct Operation {
  const char* name;
  int operands;
  double reads, writes, flops;
};

// torch/optim/sgd.py without momentum, adagrad.py and adamw.py (PyTorch 2, not capturable), in their order.
// Adagrad's list is that of ../shared/data/traces/dlrm_8xv100.
constexpr std::array kSgd{Operation{"add", 2, 2, 1, 2}};
constexpr std::array kAdagrad{Operation{"addcmul", 3, 2, 1, 3}, Operation{"sqrt", 2, 1, 1, 1},
                              Operation{"add", 1, 1, 1, 1}, Operation{"addcdiv", 3, 3, 1, 3}};
constexpr std::array kAdamW{Operation{"mul", 1, 1, 1, 1},  Operation{"lerp", 2, 2, 1, 3},
                            Operation{"mul", 1, 1, 1, 1},  Operation{"addcmul", 3, 2, 1, 3},
                            Operation{"sqrt", 2, 1, 1, 1}, Operation{"div", 1, 1, 1, 1},
                            Operation{"add", 1, 1, 1, 1},  Operation{"addcdiv", 3, 3, 1, 3}};

// Everything at once: parameters and gradients, for AdamW both moments too.
constexpr Operation kFusedSgd{"fused_sgd", 2, 2, 1, 2};
constexpr Operation kFusedAdamW{"fused_adamw", 4, 4, 3, 15};

std::span<const Operation> operations_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return kSgd;
    case Optimizer::Adagrad:
      return kAdagrad;
    case Optimizer::AdamW:
      return kAdamW;
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
      break;  // files of their own
  }
  return {};
}

const char* class_name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return "SGD";
    case Optimizer::Adagrad:
      return "Adagrad";
    case Optimizer::AdamW:
      return "AdamW";
    case Optimizer::Lamb:
      return "FusedLAMB";
    case Optimizer::BertAdam:
      return "BertAdam";
  }
  return "";
}

KernelCall update(const std::string& name, Optimizer optimizer, const Operation& operation,
                  const MultiTensorLaunch& over, DataType type) {
  return {name, type,
          OptimizerUpdate{.optimizer = optimizer,
                          .parameters = over.elements,
                          .tensors = over.tensors,
                          .reads = operation.reads,
                          .writes = operation.writes,
                          .flops = operation.flops}};
}

void for_many(StepWriter& step, Optimizer optimizer, const Operation& operation,
              std::span<const std::int64_t> parameters) {
  const std::string name = fmt::format("multi_tensor_apply_kernel<{}>", operation.name);
  for (const MultiTensorLaunch& launch : multi_tensor_launches(parameters, operation.operands)) {
    step.launch(update(name, optimizer, operation, launch, step.types().optimizer()));
  }
}

void for_each(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters) {
  for (const std::int64_t elements : parameters) {
    for (const Operation& operation : operations_of(optimizer)) {
      step.launch(update(fmt::format("vectorized_elementwise_kernel<{}>", operation.name), optimizer,
                         operation, {.elements = elements, .tensors = 1}, step.types().optimizer()));
    }
  }
}

void fused(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters) {
  if (optimizer == Optimizer::Adagrad) {
    throw std::invalid_argument{"PyTorch has no fused Adagrad on GPUs; use multi_tensor or per_tensor"};
  }
  for_many(step, optimizer, optimizer == Optimizer::AdamW ? kFusedAdamW : kFusedSgd, parameters);
}

}  // namespace

void zero_gradients(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters) {
  const char* const name = class_name(optimizer);
  step.program().begin(fmt::format("Optimizer.zero_grad#{}.zero_grad", name));
  if (step.framework().zero_gradients) {
    const bool by_apex = step.framework().apex && step.types().has_master_weights();
    if (step.framework().optimizer == OptimizerStyle::PerTensor || by_apex) {
      for (const std::int64_t elements : parameters) {
        step.launch(kernels::fill(elements, step.types().model()));
      }
    } else {
      for_many(step, optimizer, {"zero", 1, 0, 1, 0}, parameters);
    }
  }
  step.program().end();
}

void optimizer_step(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters,
                    const std::function<bool(std::int64_t elements)>& decays) {
  if (optimizer == Optimizer::Lamb) {
    lamb_step(step, parameters);
    return;
  }
  if (optimizer == Optimizer::BertAdam) {
    bert_adam_step(step, parameters, decays);
    return;
  }
  step.program().begin(fmt::format("Optimizer.step#{0}.step", class_name(optimizer)));
  switch (step.framework().optimizer) {
    case OptimizerStyle::PerTensor:
      for_each(step, optimizer, parameters);
      break;
    case OptimizerStyle::MultiTensor:
      for (const Operation& operation : operations_of(optimizer)) {
        for_many(step, optimizer, operation, parameters);
      }
      break;
    case OptimizerStyle::Fused:
      fused(step, optimizer, parameters);
      break;
  }
  step.program().end();
}

}  // namespace lockstep
