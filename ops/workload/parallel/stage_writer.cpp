#include "ops/workload/parallel/stage_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

/// DistributedDataParallel of Megatron-LM (core/distributed/param_and_grad_buffer.py,
/// gradient_scaling_factor) scales; the others' collectives average, and those of its FSDP multiply.
GradientReduction::Rules gradient_rules(const TransformerSpec& model, const ParallelPlan& plan) {
  const bool has_buffer = plan.spec.sharding <= Sharding::Zero1;
  return {.scales = model.implementation == Implementation::Megatron &&
                    plan.spec.sharding != Sharding::Zero3 && !plan.spec.average_in_collective,
          .sums_in_buffer = has_buffer && !model.is_in_torch_operators()};
}

std::size_t unit_of(std::int64_t layer) {
  return static_cast<std::size_t>(layer) + 1;
}

}  // namespace

StageWriter::StageWriter(StepWriter& step, const TransformerSpec& model, const ParallelPlan& plan,
                         const TrainingSetup& setup, const StageRanks& ranks)
    : memory_{step.program()},
      host_optimizer_{step,
                      plan,
                      memory_,
                      {ranks.host_bandwidth, setup.clip_gradients || step.precision() == Precision::FP16}},
      gradients_{step, plan, setup.parallelism.bucket, gradient_rules(model, plan), host_optimizer_},
      scope_{step, model, plan, gradients_, memory_, layer_sizes(model, plan)},
      stage_{scope_, setup, ranks.stage},
      parameters_{stage_, host_optimizer_, host_memory_},
      gather_{scope_, parameters_.units()},
      ends_{stage_},
      messages_{stage_} {}

void StageWriter::write() {
  parameters_.allocate_states();
  ends_.begin_step();
  parameters_.begin_step();
  const std::vector<StageAction> actions =
      stage_actions(scope_.plan.spec.schedule, scope_.plan.spec.pipeline, stage_.number,
                    scope_.plan.micro_batches, scope_.plan.spec.chunks);
  const std::vector<NeighbourMessages::Neighbours> around = messages_.neighbours(actions);
  for (const StageAction& action : actions) {
    ++actions_left_[static_cast<std::size_t>(action.kind)];
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto kind = static_cast<std::size_t>(actions[i].kind);
    const std::size_t before = scope_.step.program().position();
    --actions_left_[kind];
    act(actions[i], around[i]);
    latest_length_[kind] = scope_.step.program().position() - before;
  }
  update();
}

void StageWriter::update() {
  const ModuleRange phase{scope_.step, stage_.optimizes() ? "optimizer" : "gradients"};
  gradients_.finish();
  messages_.wait_for_transfers();
  parameters_.finish_gradients();
  if (stage_.optimizes()) {
    parameters_.update();
  }
}

/// An estimate: a kind that was not written yet is as long as the longest, and a quarter more for what ends
/// the step.
std::size_t StageWriter::instructions_to_come() const {
  const std::size_t longest = std::ranges::max(latest_length_);
  std::size_t sum = 0;
  for (std::size_t kind = 0; kind < actions_left_.size(); ++kind) {
    sum += actions_left_[kind] * (latest_length_[kind] > 0 ? latest_length_[kind] : longest);
  }
  return sum + sum / 4 + longest;
}

/// Micro-batches in the middle differ in nothing, unless parameters or gradients of each are communicated.
bool StageWriter::is_like_others(const StageAction& action) const {
  return scope_.plan.spec.sharding < Sharding::Zero2 && action.micro_batch > 0 &&
         action.micro_batch + 1 < scope_.plan.micro_batches;
}

/// Writes an action, and the exchange behind it.
void StageWriter::act(const StageAction& action, const NeighbourMessages::Neighbours& around) {
  messages_.begin(around);
  if (!is_like_others(action)) {
    write(action);
    messages_.exchange();
    return;
  }
  NeighbourMessages::Neighbours alike = around;
  for (std::optional<StageAction>* next : {&alike.behind.forward, &alike.behind.backward}) {
    if (*next) {
      (*next)->micro_batch = 0;
    }
  }
  const auto known =
      std::find_if(cached_actions_.begin(), cached_actions_.end(), [&](const CachedAction& passage) {
        return passage.kind == action.kind && passage.chunk == action.chunk && passage.around == alike &&
               passage.before == messages_.pending();
      });
  if (known != cached_actions_.end()) {
    const std::size_t later = scope_.step.program().position() - known->instructions[0];
    scope_.step.program().repeat(known->instructions[0], known->instructions[1], instructions_to_come());
    memory_.repeat(known->memory[0], known->memory[1], later);
    messages_.go_on(known->after);
    return;
  }
  CachedAction passage{.kind = action.kind,
                       .chunk = action.chunk,
                       .around = alike,
                       .before = messages_.pending(),
                       .after = {},
                       .instructions = {scope_.step.program().position(), 0},
                       .memory = {memory_.changes().size(), 0}};
  write(action);
  messages_.exchange();
  passage.after = messages_.pending();
  passage.instructions[1] = scope_.step.program().position();
  passage.memory[1] = memory_.changes().size();
  cached_actions_.push_back(std::move(passage));
}

void StageWriter::write(const StageAction& action) {
  switch (action.kind) {
    case StageAction::Kind::Forward:
      forward(action);
      break;
    case StageAction::Kind::Backward:
      backward(action, {.inputs = true,
                        .weights = scope_.plan.spec.schedule != PipelineSchedule::ZeroBubble,
                        .recompute = stage_.recompute_of(action.chunk)});
      break;
    case StageAction::Kind::WeightGradient:
      backward(action, {.inputs = false, .weights = true});
      break;
  }
}

Bytes StageWriter::kept_by_chunk(int chunk) const {
  const LayerRange& range = stage_.layers_of(chunk);
  Bytes kept{0};
  for (std::int64_t layer = std::max(range.first, stage_.lowest_layer()); layer < range.first + range.count;
       ++layer) {
    kept += kept_by_layer(scope_, stage_.expert_layer(layer), stage_.recompute_of(chunk, layer));
  }
  if (stage_.is_first(chunk)) {
    kept += kept_by_hugging_face_masks(scope_);
  }
  kept += ends_.kept(chunk);
  return kept;
}

void StageWriter::forward(const StageAction& action) {
  const ModuleRange phase{scope_.step, "forward"};
  ends_.fetch(action.chunk);
  messages_.receive(action);
  plan_gathers(action.chunk, true);
  if (stage_.has_tables()) {
    gather_.use(0);
  }
  if (stage_.is_first(action.chunk)) {
    ends_.embedding_forward();
  }
  memory_.allocate(MemoryUse::Activations, kept_by_chunk(action.chunk));
  const LayerRange& range = stage_.layers_of(action.chunk);
  for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
    const ModuleRange module{scope_.step, fmt::format("layer {}", layer)};
    gather_.use(unit_of(layer));
    cast_fp8_weights(layer, action.micro_batch == 0);
    const ModuleHooks hooks{scope_};
    const Recompute recompute = stage_.recompute_of(action.chunk, layer);
    const LayerCheckpoint checkpoint{scope_, recompute};
    checkpoint.keep_input();
    layer_forward(layer, recompute < Recompute::Full);
    checkpoint.end();
    gather_.done(unit_of(layer), scope_.plan.spec.reshard_after_forward);
  }
  update_fp8_scales(action.chunk, 3);  // input, weight and output of each product
  if (stage_.is_last(action.chunk)) {
    ends_.head_forward();
    ends_.loss();
  }
  messages_.send(action);
}

void StageWriter::cast_fp8_weights(std::int64_t layer, bool first) {
  const bool gathered = scope_.plan.spec.sharding == Sharding::Zero3;
  const bool changes = first && !is_frozen(scope_) && stage_.trains(ModelPart::Layers, layer);
  if (scope_.step.precision() == Precision::FP8 && !casts_before_gather(scope_) && (changes || gathered)) {
    cast_weights(scope_, stage_.parameters(layer).linear);
  }
}

void StageWriter::update_fp8_scales(int chunk, std::int64_t tensors_of_product) {
  if (scope_.step.precision() != Precision::FP8 || casts_before_gather(scope_) || scales_by_itself(scope_)) {
    return;
  }
  std::int64_t products = 0;
  const LayerRange& range = stage_.layers_of(chunk);
  for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
    products += stage_.parameters(layer).linear_layers;
  }
  update_scales(scope_, tensors_of_product * products);
}

void StageWriter::backward(const StageAction& action, BackwardParts parts) {
  const ModuleRange phase{scope_.step, parts.inputs ? "backward" : "weight gradients"};
  if (parts.inputs) {
    messages_.receive(action);
  }
  gradients_.begin(action.micro_batch == 0 && stage_.optimizes(),
                   action.micro_batch + 1 == scope_.plan.micro_batches);
  plan_gathers(action.chunk, false);
  if (stage_.is_last(action.chunk)) {
    ends_.head_backward(parts);
    gradients_.put_off();
    memory_.allocate(MemoryUse::Gradients, parameters_.waiting_gradients(action.chunk));
  }
  backward_of_layers(action, parts);
  if (parts.inputs) {
    update_fp8_scales(action.chunk, 2);  // gradients of output and input of each product
  }
  if (parts.weights) {
    if (stage_.is_first(action.chunk) && !is_frozen(scope_) && stage_.trains(ModelPart::Embedding)) {
      ends_.embedding_backward();
    }
    gradients_.pass_done();
    memory_.release(MemoryUse::Gradients, parameters_.waiting_gradients(action.chunk));
    memory_.release(MemoryUse::Activations, kept_by_chunk(action.chunk));
    gather_.done(0, drops_parameters(action));
  }
  if (parts.inputs) {
    messages_.send(action);
  }
}

void StageWriter::backward_of_layers(const StageAction& action, BackwardParts parts) {
  const LayerRange& range = stage_.layers_of(action.chunk);
  const std::int64_t lowest = std::max(range.first, stage_.lowest_layer());
  for (std::int64_t layer = range.first + range.count; layer-- > lowest;) {
    const ModuleRange module{scope_.step, fmt::format("layer {}", layer)};
    if (parts.inputs) {
      gather_.use(unit_of(layer));
      cast_fp8_weights(layer, false);
    }
    BackwardParts of_layer = parts;
    of_layer.weights = parts.weights && stage_.trains(ModelPart::Layers, layer);
    of_layer.recompute =
        parts.recompute == Recompute::None ? Recompute::None : stage_.recompute_of(action.chunk, layer);
    const Bytes passing = of_layer.weights ? parameters_.passing_gradients(layer) : Bytes{0};
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
}

void StageWriter::plan_gathers(int chunk, bool forward) {
  std::vector<std::size_t> order;
  const LayerRange& range = stage_.layers_of(chunk);
  const std::int64_t first = forward ? range.first : std::max(range.first, stage_.lowest_layer());
  for (std::int64_t layer = first; layer < range.first + range.count; ++layer) {
    order.push_back(unit_of(layer));
  }
  if (forward && stage_.has_tables()) {
    order.insert(order.begin(), 0);
  }
  if (!forward) {
    std::reverse(order.begin(), order.end());
  }
  gather_.plan(std::move(order));
}

/// A pipeline's stage keeps what it gathered until its last micro-batch, and so may FSDP.
bool StageWriter::drops_parameters(const StageAction& action) const {
  const bool keeps = scope_.plan.spec.pipeline > 1 || scope_.plan.spec.keeps_gathered_parameters();
  return !keeps || action.micro_batch + 1 == scope_.plan.micro_batches;
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
  if (stage_.has_experts(layer)) {
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
    const LayerPass all =
        scope_.plan.spec.recompute_early_stop ? LayerPass::UpToLastProduct : LayerPass::Forward;
    eager_llama_forward(scope_, recompute == Recompute::Operators ? LayerPass::Operators : all);
    return;
  }
  if (!scope_.plan.spec.recompute_early_stop ||
      stage_.has_experts(layer)) {  // the router's gradient reads experts' results
    layer_forward(layer, true);
    return;
  }
  attention_forward(scope_);
  feed_forward_norm_forward(scope_);
  feed_forward_again(scope_, scope_.sizes.feed_forward);
}

void StageWriter::layer_backward(std::int64_t layer, BackwardParts parts) {
  const bool again = parts.inputs && parts.recompute >= Recompute::Full;
  const Bytes extra = again ? kept_by_layer(scope_, stage_.expert_layer(layer), Recompute::None) : Bytes{0};
  const LayerCheckpoint checkpoint{scope_, again ? parts.recompute : Recompute::None};
  checkpoint.restore_input();
  if (again && !is_compiled(scope_)) {
    const ModuleRange range{scope_.step, kRecomputeRange};
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
  if (stage_.has_experts(layer)) {
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
