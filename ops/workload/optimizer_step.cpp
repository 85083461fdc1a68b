#include "ops/workload/optimizer_step.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "ops/workload/bert_adam.hpp"
#include "ops/workload/lamb.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"
#include "ops/workload/optimizer_host.hpp"

namespace lockstep {
namespace {

/// One arithmetic operation of an optimizer: what it is, its operator where each tensor has its own, how many
/// lists of tensors it takes, its passes over memory in tensors of the parameter's size, and whether its
/// results are new tensors.
struct Operation {
  const char* name;
  const char* op;
  int operands;
  double reads, writes, flops;
  bool makes_tensors = false;
};

// torch/optim/sgd.py, adagrad.py and adamw.py (PyTorch 2, not capturable), in their order. SGD's
// weight decay makes a new tensor of the gradients.
// Adagrad's list is that of ../shared/data/traces/dlrm_8xv100.
constexpr Operation kDecay{"add", "aten::add", 3, 2, 1, 2, true};
constexpr std::array kMomentum{Operation{"mul", "aten::mul_", 1, 1, 1, 1},
                               Operation{"add", "aten::add_", 2, 2, 1, 2}};
constexpr Operation kNesterov{"add", "aten::add", 2, 2, 1, 2, true};
constexpr Operation kDescent{"add", "aten::add_", 2, 2, 1, 2};
constexpr std::array kAdagrad{
    Operation{"addcmul", "aten::addcmul_", 3, 2, 1, 3}, Operation{"sqrt", "aten::sqrt", 2, 1, 1, 1, true},
    Operation{"add", "aten::add_", 1, 1, 1, 1}, Operation{"addcdiv", "aten::addcdiv_", 3, 3, 1, 3}};
constexpr std::array kAdamW{
    Operation{"mul", "aten::mul_", 1, 1, 1, 1},        Operation{"lerp", "aten::lerp_", 2, 2, 1, 3},
    Operation{"mul", "aten::mul_", 1, 1, 1, 1},        Operation{"addcmul", "aten::addcmul_", 3, 2, 1, 3},
    Operation{"sqrt", "aten::sqrt", 2, 1, 1, 1, true}, Operation{"div", "aten::div", 1, 1, 1, 1},
    Operation{"add", "aten::add_", 1, 1, 1, 1},        Operation{"addcdiv", "aten::addcdiv_", 3, 3, 1, 3}};
// transformers/optimization.py, class AdamW (the Trainer's optim="adamw_hf"),
// without weight decay, its default.
constexpr std::array kAdamWHf{
    Operation{"mul", "aten::mul_", 1, 1, 1, 1},        Operation{"add", "aten::add_", 2, 2, 1, 2},
    Operation{"mul", "aten::mul_", 1, 1, 1, 1},        Operation{"addcmul", "aten::addcmul_", 3, 2, 1, 3},
    Operation{"sqrt", "aten::sqrt", 2, 1, 1, 1, true}, Operation{"add", "aten::add_", 1, 1, 1, 1},
    Operation{"addcdiv", "aten::addcdiv_", 3, 3, 1, 3}};

// Everything at once: parameters and gradients, SGD's momentum, AdamW's two moments.
constexpr Operation kFusedSgd{"fused_sgd", "", 2, 2, 1, 2};
constexpr Operation kFusedMomentum{"fused_sgd", "", 3, 3, 2, 5};
constexpr Operation kFusedAdamW{"fused_adamw", "", 4, 4, 3, 15};

std::vector<Operation> sgd_operations(const OptimizerSpec& sgd) {
  std::vector<Operation> operations;
  if (sgd.weight_decay != 0) {
    operations.push_back(kDecay);
  }
  if (sgd.momentum != 0) {
    operations.insert(operations.end(), kMomentum.begin(), kMomentum.end());
  }
  if (sgd.nesterov) {
    operations.push_back(kNesterov);
  }
  operations.push_back(kDescent);
  return operations;
}

std::vector<Operation> operations_of(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case Optimizer::Sgd:
      return sgd_operations(optimizer);
    case Optimizer::Adagrad:
      return {kAdagrad.begin(), kAdagrad.end()};
    case Optimizer::AdamW:
      return {kAdamW.begin(), kAdamW.end()};
    case Optimizer::AdamWHf:
      return {kAdamWHf.begin(), kAdamWHf.end()};
    case Optimizer::Lamb:
    case Optimizer::BertAdam:
    case Optimizer::RowWiseAdagrad:
      break;  // files of their own; of tables only
  }
  return {};
}

const char* class_name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return "SGD";
    case Optimizer::Adagrad:
    case Optimizer::RowWiseAdagrad:
      return "Adagrad";
    case Optimizer::AdamW:
    case Optimizer::AdamWHf:
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

/// AdamW of many tensors reads the number of each one's steps, which lies on the host, twice for its bias
/// corrections (torch/optim/adam.py, _multi_tensor_adam: _get_value), behind its fourth operator.
constexpr std::size_t kBeforeCorrections = 4;

/// torch._foreach_*: an operator for each; the loop as a whole where the host's profile lists it.
void multi_tensor(StepWriter& step, const std::string& name, Optimizer optimizer,
                  const std::vector<Operation>& operations, std::span<const std::int64_t> parameters) {
  if (step.program().host().operators.contains(name)) {
    step.program().begin(name);
    for (const Operation& operation : operations) {
      for_many(step, optimizer, operation, parameters);
    }
    step.program().end();
    return;
  }
  step.program().begin_range(name);
  const bool counts_steps = optimizer == Optimizer::AdamW;
  OptimizerHost::write(step, OptimizerHost::kGroup + (counts_steps ? OptimizerHost::kSteps : 0),
                       parameters.size());
  for (std::size_t index = 0; index < operations.size(); ++index) {
    OptimizerHost::write(
        step, OptimizerHost::kList + (operations[index].makes_tensors ? OptimizerHost::kNewTensor : 0),
        parameters.size());
    for (std::size_t read = 0; counts_steps && index == kBeforeCorrections && read < 2 * parameters.size();
         ++read) {
      step.op("aten::item");
    }
    step.program().begin(fmt::format("aten::_foreach_{}", operations[index].name));
    for_many(step, optimizer, operations[index], parameters);
    step.program().end();
  }
  step.program().end_range();
}

/// A loop in Python, of which each operator costs the host what it costs elsewhere; or the loop as a whole
/// where the host's profile lists it, as traces of PyTorch's own optimizers have it.
class PythonLoop {
 public:
  PythonLoop(StepWriter& step, const std::string& name)
      : step_{step}, is_measured_{step.program().host().operators.contains(name)} {
    is_measured_ ? step_.program().begin(name) : step_.program().begin_range(name);
  }
  ~PythonLoop() { step_.program().end_scope(is_measured_); }
  PythonLoop(const PythonLoop&) = delete;
  PythonLoop& operator=(const PythonLoop&) = delete;

  void call(const char* op, const KernelCall& kernel) {
    is_measured_ ? step_.launch(kernel) : step_.op(op, {kernel});
  }

 private:
  StepWriter& step_;
  bool is_measured_;
};

void for_each(StepWriter& step, const std::string& name, const OptimizerSpec& optimizer,
              std::span<const std::int64_t> parameters) {
  const bool is_of_torch = optimizer.kind != Optimizer::AdamWHf;
  if (is_of_torch && !step.program().host().operators.contains(name)) {
    OptimizerHost::write(step, OptimizerHost::kGroup, parameters.size());
  }
  PythonLoop loop{step, name};
  const std::vector<Operation> operations = operations_of(optimizer);
  for (const std::int64_t elements : parameters) {
    for (const Operation& operation : operations) {
      loop.call(operation.op,
                update(fmt::format("vectorized_elementwise_kernel<{}>", operation.name), optimizer.kind,
                       operation, {.elements = elements, .tensors = 1}, step.types().optimizer()));
    }
  }
}

void fused(StepWriter& step, const OptimizerSpec& optimizer, std::span<const std::int64_t> parameters) {
  if (optimizer.kind == Optimizer::Adagrad) {
    throw std::invalid_argument{"PyTorch has no fused Adagrad on GPUs; use multi_tensor or per_tensor"};
  }
  const Operation& sgd = optimizer.momentum != 0 ? kFusedMomentum : kFusedSgd;
  for_many(step, optimizer.kind, optimizer.kind == Optimizer::AdamW ? kFusedAdamW : sgd, parameters);
}

}  // namespace

void zero_gradients(StepWriter& step, Optimizer optimizer, std::span<const std::int64_t> parameters) {
  const std::string name = fmt::format("Optimizer.zero_grad#{}.zero_grad", class_name(optimizer));
  const bool by_apex = step.framework().apex && step.types().has_master_weights();
  const bool by_tensor = step.framework().optimizer == OptimizerStyle::PerTensor || by_apex;
  if (step.framework().zero_gradients && by_tensor) {
    PythonLoop loop{step, name};
    for (const std::int64_t elements : parameters) {
      loop.call("aten::zero_", kernels::fill(elements, step.types().model()));
    }
    return;
  }
  if (!step.framework().zero_gradients && !step.program().host().operators.contains(name)) {
    OptimizerHost::write(step, OptimizerHost::kZero, parameters.size());
  }
  step.program().begin(name);
  if (step.framework().zero_gradients) {
    for_many(step, optimizer, {"zero", "", 1, 0, 1, 0}, parameters);
  }
  step.program().end();
}

void optimizer_step_by_tensor(StepWriter& step, const OptimizerSpec& optimizer,
                              std::span<const std::int64_t> parameters) {
  for_each(step, fmt::format("Optimizer.step#{}.step", class_name(optimizer.kind)), optimizer, parameters);
}

void optimizer_step(StepWriter& step, const OptimizerSpec& optimizer,
                    std::span<const std::int64_t> parameters,
                    const std::function<bool(std::int64_t elements)>& decays) {
  if (optimizer.kind == Optimizer::Lamb) {
    lamb_step(step, parameters);
    return;
  }
  if (optimizer.kind == Optimizer::BertAdam) {
    bert_adam_step(step, parameters, decays);
    return;
  }
  if (optimizer.kind == Optimizer::AdamWHf || step.framework().optimizer == OptimizerStyle::PerTensor) {
    optimizer_step_by_tensor(step, optimizer, parameters);
    return;
  }
  const std::string name = fmt::format("Optimizer.step#{}.step", class_name(optimizer.kind));
  if (step.framework().optimizer != OptimizerStyle::Fused) {
    multi_tensor(step, name, optimizer.kind, operations_of(optimizer), parameters);
    return;
  }
  if (!step.program().host().operators.contains(name)) {
    OptimizerHost::write(step, OptimizerHost::kGroup + OptimizerHost::kList, parameters.size());
  }
  step.program().begin(name);
  fused(step, optimizer, parameters);
  step.program().end();
}

}  // namespace lockstep
