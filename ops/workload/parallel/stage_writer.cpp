#include "ops/workload/parallel/stage_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/model_flops.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/compiled_llama.hpp"
#include "ops/workload/parallel/eager_llama.hpp"
#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/layer_checkpoint.hpp"
#include "ops/workload/parallel/llama_attention.hpp"
#include "ops/workload/parallel/module_hooks.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"

namespace lockstep {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// DistributedDataParallel of Megatron-LM (core/distributed/param_and_grad_buffer.py,
/// gradient_scaling_factor) scales; the others' collectives average, and those of its FSDP multiply.
GradientReduction::Rules gradient_rules(const TransformerSpec& model, const ParallelPlan& plan) {
  const bool has_buffer = plan.spec.sharding <= Sharding::Zero1;
  return {.scales = model.implementation == Implementation::Megatron &&
                    plan.spec.sharding != Sharding::Zero3 && !plan.spec.average_in_collective,
          .sums_in_buffer = has_buffer && !model.is_in_torch_operators()};
}

}  // namespace

StageWriter::StageWriter(StepWriter& step, const TransformerSpec& model, const ParallelPlan& plan,
                         const TrainingSetup& setup, const StageRanks& ranks)
    : step_{step},
      model_{model},
      plan_{plan},
      setup_{setup},
      stage_{ranks.stage},
      host_optimizer_{step,
                      plan,
                      memory_,
                      {ranks.host_bandwidth, setup.clip_gradients || step.precision() == Precision::FP16}},
      gradients_{step, plan, setup.parallelism.bucket, gradient_rules(model, plan), host_optimizer_},
      scope_{step, model, plan, gradients_, memory_, layer_sizes(model, plan)},
      gather_{scope_, units()},
      loader_{step, setup, scope_.sizes.batch} {
  for (int chunk = 0; chunk < plan.spec.chunks; ++chunk) {
    const LayerRange& range = plan.layers_of(stage_, chunk);
    for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
      const LayerParameters of_layer = parameters(layer);
      dense_.insert(dense_.end(), of_layer.dense.begin(), of_layer.dense.end());
      frozen_ += of_layer.frozen;
      expert_.insert(expert_.end(), of_layer.expert.begin(), of_layer.expert.end());
      fp8_copies_ = plan.spec.sharding == Sharding::Zero3 ? std::max(fp8_copies_, of_layer.linear)
                                                          : fp8_copies_ + of_layer.linear;
      fp8_elements_ += of_layer.linear;
      fp8_weights_ += of_layer.linear_layers;
    }
  }
  for (const ModelPart part : {ModelPart::Embedding, ModelPart::Head}) {
    const std::vector<std::int64_t> end = parameters_of_end(part);
    if (is_frozen(scope_) || !trains(part)) {
      frozen_ += sum(end);
    } else {
      dense_.insert(dense_.end(), end.begin(), end.end());
    }
  }
}

/// Leaves a table that both ends share to the embedding.
std::vector<std::int64_t> StageWriter::parameters_of_end(ModelPart part) const {
  std::vector<std::int64_t> end;
  const std::int64_t table = vocabulary_share() * model_.hidden;
  if (part == ModelPart::Embedding && has_embedding()) {
    end.push_back(table);
    if (model_.position_encoding == PositionEncoding::Learned) {
      end.push_back(model_.positions * model_.hidden);
    }
  }
  if (part == ModelPart::Head && has_head()) {
    add_norm(model_, model_.hidden, end);
    if (!model_.tied || !has_embedding()) {
      end.push_back(table);
    }
  }
  return end;
}

/// Megatron-LM pads the vocabulary to a multiple of 128 for each rank (--make-vocab-size-divisible-by),
/// nanotron to one of the ranks (make_vocab_size_divisible_by: 1, nanotron/helpers.py); torchtitan does not.
std::int64_t StageWriter::vocabulary_share() const {
  const std::int64_t multiple = is_eager(scope_) || is_llama(scope_) ? 1 : 128;
  const std::int64_t whole = multiple * plan_.spec.tensor;
  return (model_.vocabulary + whole - 1) / whole * multiple;
}

bool StageWriter::has_experts(std::int64_t layer) const {
  return model_.experts && layer >= model_.experts->dense_layers;
}

std::optional<std::int64_t> StageWriter::expert_layer(std::int64_t layer) const {
  return has_experts(layer) ? std::optional{layer} : std::nullopt;
}

void StageWriter::write() {
  allocate_states();
  begin_step();
  const std::vector<StageAction> actions =
      stage_actions(plan_.spec.schedule, plan_.spec.pipeline, stage_, plan_.micro_batches, plan_.spec.chunks);
  const std::vector<StageExchange> behind = exchanges(actions);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    forward_follows_ = sends_tensors_one_by_one() && i + 1 < actions.size() &&
                       actions[i + 1].kind == StageAction::Kind::Forward;
    act(actions[i], behind[i]);
  }
  update();
}

/// Micro-batches in the middle differ in nothing, unless parameters or gradients of each are communicated.
bool StageWriter::is_like_others(const StageAction& action) const {
  return plan_.spec.sharding < Sharding::Zero2 && action.micro_batch > 0 &&
         action.micro_batch + 1 < plan_.micro_batches;
}

/// Writes an action, and the exchange behind it.
void StageWriter::act(const StageAction& action, const StageExchange& behind) {
  sends_later_ = !behind.sends;
  const auto write_all = [&] {
    write(action);
    exchange(behind);
  };
  if (!is_like_others(action)) {
    write_all();
    return;
  }
  StageExchange alike = behind;
  for (std::optional<StageAction>* next : {&alike.forward, &alike.backward}) {
    if (*next) {
      (*next)->micro_batch = 0;
    }
  }
  const auto known =
      std::find_if(cached_actions_.begin(), cached_actions_.end(), [&](const CachedAction& passage) {
        return passage.kind == action.kind && passage.chunk == action.chunk && passage.behind == alike &&
               passage.before == messages_ && passage.forward_follows == forward_follows_;
      });
  if (known != cached_actions_.end()) {
    step_.program().repeat(known->instructions[0], known->instructions[1]);
    memory_.repeat(known->memory[0], known->memory[1]);
    messages_ = known->after;
    return;
  }
  CachedAction passage{.kind = action.kind,
                       .chunk = action.chunk,
                       .behind = alike,
                       .before = messages_,
                       .after = {},
                       .forward_follows = forward_follows_,
                       .instructions = {step_.program().position(), 0},
                       .memory = {memory_.position(), 0}};
  write_all();
  passage.after = messages_;
  passage.instructions[1] = step_.program().position();
  passage.memory[1] = memory_.position();
  cached_actions_.push_back(std::move(passage));
}

void StageWriter::write(const StageAction& action) {
  switch (action.kind) {
    case StageAction::Kind::Forward:
      forward(action);
      break;
    case StageAction::Kind::Backward:
      backward(action, {.inputs = true,
                        .weights = plan_.spec.schedule != PipelineSchedule::ZeroBubble,
                        .recompute = plan_.recompute_of(stage_, action.chunk)});
      break;
    case StageAction::Kind::WeightGradient:
      backward(action, {.inputs = false, .weights = true});
      break;
  }
}

Bytes StageWriter::kept_by_chunk(int chunk) const {
  const LayerRange& range = plan_.layers_of(stage_, chunk);
  Bytes kept{0};
  for (std::int64_t layer = std::max(range.first, lowest_layer()); layer < range.first + range.count;
       ++layer) {
    kept += kept_by_layer(scope_, expert_layer(layer), plan_.recompute_of(stage_, chunk, layer));
  }
  if (plan_.is_first(stage_, chunk)) {
    kept += kept_by_hugging_face_masks(scope_);
  }
  if (plan_.is_last(stage_, chunk)) {  // logits, and what the head's norm and product read
    const Bytes logit = model_.fused_loss || compiles_loss() ? size_of(scope_.storage()) : Bytes{4};
    const double new_tensor = is_eager(scope_) ? 2 : 1;  // and what is left of them there
    const double copies = has_eager_loss() ? 0 : new_tensor;
    kept += logit * static_cast<double>(scope_.sizes.tokens * vocabulary_share()) * copies;
    kept += kept_by_last_norm();
  }
  return kept;
}

void StageWriter::forward(const StageAction& action) {
  const ModuleRange phase{step_, "forward"};
  fetch(action.chunk);
  receive(action);
  plan_gathers(action.chunk, true);
  if (has_tables()) {
    gather_.use(0);
  }
  if (plan_.is_first(stage_, action.chunk)) {
    embedding_forward();
  }
  memory_.allocate(MemoryUse::Activations, kept_by_chunk(action.chunk));
  const LayerRange& range = plan_.layers_of(stage_, action.chunk);
  for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    gather_.use(unit_of(layer));
    cast_fp8_weights(layer, action.micro_batch == 0);
    const ModuleHooks hooks{scope_};
    const Recompute recompute = plan_.recompute_of(stage_, action.chunk, layer);
    const LayerCheckpoint checkpoint{scope_, recompute};
    checkpoint.keep_input();
    layer_forward(layer, recompute < Recompute::Full);
    checkpoint.end();
    gather_.done(unit_of(layer), plan_.spec.reshard_after_forward);
  }
  update_fp8_scales(action.chunk, 3);  // input, weight and output of each product
  if (plan_.is_last(stage_, action.chunk)) {
    head_forward();
    loss();
  }
  send(action);
}

LayerParameters StageWriter::parameters(std::int64_t layer) const {
  LayerParameters of_layer = parameters_of_layer(model_, plan_, has_experts(layer));
  if (!trains(ModelPart::Layers, layer)) {
    of_layer.frozen += sum(of_layer.dense);
    of_layer.dense.clear();
  }
  return of_layer;
}

void StageWriter::cast_fp8_weights(std::int64_t layer, bool first) {
  const bool gathered = plan_.spec.sharding == Sharding::Zero3;
  const bool changes = first && !is_frozen(scope_) && trains(ModelPart::Layers, layer);
  if (step_.precision() == Precision::FP8 && !casts_before_gather(scope_) && (changes || gathered)) {
    cast_weights(scope_, parameters(layer).linear);
  }
}

void StageWriter::update_fp8_scales(int chunk, std::int64_t tensors_of_product) {
  if (step_.precision() != Precision::FP8 || casts_before_gather(scope_) || scales_by_itself(scope_)) {
    return;
  }
  std::int64_t products = 0;
  const LayerRange& range = plan_.layers_of(stage_, chunk);
  for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
    products += parameters(layer).linear_layers;
  }
  update_scales(scope_, tensors_of_product * products);
}

void StageWriter::backward(const StageAction& action, BackwardParts parts) {
  const ModuleRange phase{step_, parts.inputs ? "backward" : "weight gradients"};
  if (parts.inputs) {
    receive(action);
  }
  gradients_.begin(action.micro_batch == 0 && optimizes(), action.micro_batch + 1 == plan_.micro_batches);
  plan_gathers(action.chunk, false);
  if (plan_.is_last(stage_, action.chunk)) {
    head_backward(parts);
    gradients_.put_off();
    memory_.allocate(MemoryUse::Gradients, waiting_gradients(action.chunk));
  }
  const LayerRange& range = plan_.layers_of(stage_, action.chunk);
  const std::int64_t lowest = std::max(range.first, lowest_layer());
  for (std::int64_t layer = range.first + range.count; layer-- > lowest;) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    if (parts.inputs) {
      gather_.use(unit_of(layer));
      cast_fp8_weights(layer, false);
    }
    BackwardParts of_layer = parts;
    of_layer.weights = parts.weights && trains(ModelPart::Layers, layer);
    of_layer.recompute = parts.recompute == Recompute::None ? Recompute::None
                                                            : plan_.recompute_of(stage_, action.chunk, layer);
    const Bytes passing = of_layer.weights ? passing_gradients(layer) : Bytes{0};
    memory_.allocate(MemoryUse::Gradients, passing);
    layer_backward(layer, of_layer);
    if (of_layer.weights) {
      gradients_.layer_done();
    }
    memory_.release(MemoryUse::Gradients, passing);
    if (parts.inputs) {
      gather_.done(unit_of(layer), drops_parameters(action));
    }
  }
  if (parts.inputs) {
    update_fp8_scales(action.chunk, 2);  // gradients of output and input of each product
  }
  if (parts.weights) {
    if (plan_.is_first(stage_, action.chunk) && !is_frozen(scope_) && trains(ModelPart::Embedding)) {
      embedding_backward();
    }
    gradients_.pass_done();
    memory_.release(MemoryUse::Gradients, waiting_gradients(action.chunk));
    memory_.release(MemoryUse::Activations, kept_by_chunk(action.chunk));
    gather_.done(0, drops_parameters(action));
  }
  if (parts.inputs) {
    send(action);
  }
}

void StageWriter::layer_forward(std::int64_t layer, bool differentiated) {
  if (is_compiled(scope_)) {
    compiled_llama_forward(scope_);
    return;
  }
  if (is_llama(scope_)) {
    eager_llama_forward(scope_, LayerPass::Forward);
    return;
  }
  attention_forward(scope_);
  feed_forward_norm_forward(scope_);
  if (has_experts(layer)) {
    experts_forward(scope_, layer, differentiated);
  } else {
    feed_forward_forward(scope_, scope_.sizes.feed_forward);
  }
  residual_forward(scope_, Branch::FeedForward);
}

/// Writes what full recomputation recomputes. Backward reads neither the layer's result nor that of its last
/// product, which an early stop leaves out.
void StageWriter::layer_again(std::int64_t layer, Recompute recompute) {
  if (is_llama(scope_)) {
    const LayerPass all = plan_.spec.recompute_early_stop ? LayerPass::UpToLastProduct : LayerPass::Forward;
    eager_llama_forward(scope_, recompute == Recompute::Operators ? LayerPass::Operators : all);
    return;
  }
  if (!plan_.spec.recompute_early_stop ||
      has_experts(layer)) {  // the router's gradient reads experts' results
    layer_forward(layer, true);
    return;
  }
  attention_forward(scope_);
  feed_forward_norm_forward(scope_);
  feed_forward_again(scope_, scope_.sizes.feed_forward);
}

void StageWriter::layer_backward(std::int64_t layer, BackwardParts parts) {
  const bool again = parts.inputs && parts.recompute >= Recompute::Full;
  const Bytes extra = again ? kept_by_layer(scope_, expert_layer(layer), Recompute::None) : Bytes{0};
  const LayerCheckpoint checkpoint{scope_, again ? parts.recompute : Recompute::None};
  checkpoint.restore_input();
  if (again && !is_compiled(scope_)) {
    const ModuleRange range{step_, kRecomputeRange};
    const ModuleHooks hooks{scope_};
    layer_again(layer, parts.recompute);
  }
  const ModuleHooks hooks{scope_};
  memory_.allocate(MemoryUse::Workspace, extra);
  if (is_compiled(scope_)) {
    compiled_llama_backward(scope_, parts);
    memory_.release(MemoryUse::Workspace, extra);
    return;
  }
  if (is_llama(scope_)) {
    eager_llama_backward(scope_, parts);
    memory_.release(MemoryUse::Workspace, extra);
    return;
  }
  residual_backward(scope_, parts);
  if (has_experts(layer)) {
    experts_backward(scope_, layer, parts);
  } else {
    feed_forward_backward(scope_, scope_.sizes.feed_forward, parts);
  }
  feed_forward_norm_backward(scope_, parts);
  attention_backward(scope_, parts);
  checkpoint.end();
  memory_.release(MemoryUse::Workspace, extra);
}

}  // namespace lockstep
