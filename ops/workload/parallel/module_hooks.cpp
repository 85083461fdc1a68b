#include "ops/workload/parallel/module_hooks.hpp"

namespace lockstep {
/// transformers' LlamaDecoderLayer, its attention with four products, its MLP with three and an activation,
/// two norms; Megatron-LM's ParallelTransformerLayer, its attention with two products, core attention and its
/// softmax and dropout, its MLP with two, two norms. In place of a product with an adapter PEFT calls its
/// wrapper, the product, dropout (an Identity without one), A and B.
int ModuleHooks::modules_of_layer(const TransformerSpec& model) {
  constexpr int kLlama = 13, kMegatron = 12, kMoreOfAdapter = 4;
  const int alone = model.is_in_torch_operators() ? kLlama : kMegatron;
  const int adapted = model.lora ? static_cast<int>(model.lora->target_modules.size()) : 0;
  return alone + kMoreOfAdapter * adapted;
}

void ModuleHooks::write() {
  if (scope_.plan.spec.shard_copies == ShardCopies::DeepSpeed) {
    ProgramBuilder& program = scope_.step.program();
    program.host_work(kModuleHooks,
                      modules_of_layer(scope_.model) * kHook * program.host().between_operators);
  }
}

}  // namespace lockstep
