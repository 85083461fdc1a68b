#include "ops/workload/parallel/module_hooks.hpp"

namespace lockstep {
/// transformers' LlamaDecoderLayer, its attention with four products, its MLP with three and an activation,
/// two norms; Megatron-LM's ParallelTransformerLayer, its attention with two products, core attention and its
/// softmax and dropout, its MLP with two, two norms; GPT2Block, its attention and MLP with two products and
/// dropout each, the activation, two norms; BertLayer, its attention, self-attention of three products and
/// dropout, two outputs of a product, norm and dropout each, its intermediate with product and activation;
/// OPTDecoderLayer, its attention with four products, two products, activation, two norms. In place of a
/// product with an adapter PEFT calls its wrapper, the product, dropout (an Identity without one), A and B.
int ModuleHooks::modules_of_layer(const TransformerSpec& model) {
  constexpr int kLlama = 13, kMegatron = 12, kMoreOfAdapter = 4;
  constexpr int kGpt2 = 13, kBert = 18, kOpt = 11;
  const bool is_bert = model.family == TransformerFamily::Bert;
  const int decoder = model.family == TransformerFamily::Opt ? kOpt : kGpt2;
  const int in_modules = is_bert ? kBert : decoder;
  const int others = model.is_in_modules() ? in_modules : kMegatron;
  const int alone = model.is_in_torch_operators() ? kLlama : others;
  const int adapted = model.lora ? static_cast<int>(model.lora->target_modules.size()) : 0;
  return alone + kMoreOfAdapter * adapted;
}

void ModuleHooks::write() {
  if (scope_.plan.spec.zero3_implementation == Zero3Implementation::DeepSpeed) {
    ProgramBuilder& program = scope_.step.program();
    program.host_work(kModuleHooks,
                      modules_of_layer(scope_.model) * kHook * program.host().between_operators);
  }
}

}  // namespace lockstep
