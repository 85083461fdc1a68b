#include "ops/workload/dlrm_step.hpp"

#include <numeric>
#include <utility>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/regression_loss.hpp"
#include "ops/workload/loss_scaling.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {

DlrmStep::DlrmStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                   std::vector<ShardGroup> tables, DlrmPart part)
    : step_{step},
      spec_{spec},
      setup_{setup},
      part_{std::move(part)},
      local_batch_{setup.global_batch / static_cast<std::int64_t>(step.ranks())},
      embeddings_{step, spec, setup, std::move(tables), feature_type(), part_},
      inputs_{step, spec, setup, embeddings_,
              part_.bottom ? (is_hybrid() ? setup.global_batch : local_batch_) : 0},
      bottom_{.rows = part_.bottom ? (is_hybrid() ? setup.global_batch : local_batch_) : 0,
              .widths = spec.bottom_mlp,
              .last = MlpActivation::Relu},
      top_{.rows = local_batch_,
           .widths = {spec.interaction_width()},
           .last = spec.loss == DlrmLoss::BinaryCrossEntropyWithLogits ? MlpActivation::None
                                                                       : MlpActivation::Sigmoid,
           .cast_input = spec.interaction != Interaction::Dot && feature_type() == DataType::FP32},
      interaction_{interaction_shape()},
      cross_{.rows = local_batch_,
             .width = spec.interaction_width(),
             .projection = spec.cross_projection,
             .layers = spec.cross_layers,
             .type = feature_type()} {
  top_.widths.insert(top_.widths.end(), spec.top_mlp.begin(), spec.top_mlp.end());
  shared_parameters_ = parameters_of(cross_);
  const std::vector<std::int64_t> top =
      trains(ModelPart::TopMlp) ? parameters_of(top_) : std::vector<std::int64_t>{};
  shared_parameters_.insert(shared_parameters_.end(), top.begin(), top.end());
  const std::vector<std::int64_t> bottom =
      part_.bottom && trains(ModelPart::BottomMlp) ? parameters_of(bottom_) : std::vector<std::int64_t>{};
  parameters_ = bottom;
  parameters_.insert(parameters_.end(), shared_parameters_.begin(), shared_parameters_.end());
  if (!is_hybrid()) {
    shared_parameters_ = parameters_;
  }
  const std::vector<std::int64_t> tables_too =
      trains(ModelPart::Embedding) ? embeddings_.dense_parameters() : std::vector<std::int64_t>{};
  parameters_.insert(parameters_.end(), tables_too.begin(), tables_too.end());
}

DataType DlrmStep::feature_type() const {
  return lockstep::feature_type(spec_, setup_.precision);
}

InteractionShape DlrmStep::interaction_shape() const {
  const std::vector<EmbeddingTable> all = spec_.all_tables();
  const std::int64_t sparse_width =
      std::accumulate(all.begin(), all.end(), std::int64_t{0},
                      [](std::int64_t sum, const EmbeddingTable& table) { return sum + table.dimension; });
  return {.rows = local_batch_,
          .features = static_cast<std::int64_t>(all.size()) + 1,
          .dense_width = spec_.bottom_mlp.back(),
          .input_width = spec_.bottom_mlp.back() + sparse_width,
          .pieces = (is_hybrid() ? 0 : 1) + embeddings_.pieces(),
          .kind = spec_.interaction,
          .kernels = spec_.interaction_kernels,
          .indices_on_host = spec_.interaction_indices_on_host,
          .type = feature_type(),
          .dense_is_part = is_hybrid()};
}

Optimizer DlrmStep::optimizer() const {
  return dense_optimizer(spec_.optimizer);
}

void DlrmStep::begin(DlrmMoment moment) {
  moments_[static_cast<std::size_t>(moment)] = {static_cast<std::uint32_t>(step_.program().position()),
                                                step_.program().current_thread()};
}

void DlrmStep::write() {
  {
    const ModuleRange phase{step_, "forward"};
    inputs_.begin_step();
    forward();
  }
  loss();
  inputs_.before_backward();
  backward();
  update();
  if (spec_.synchronize_each_step && !inputs_.prefetches()) {
    step_.program().wait_device();
  }
}

void DlrmStep::forward_bottom() {
  begin(DlrmMoment::BottomMlp);
  const ModuleRange module{step_, "bottom_mlp"};
  mlp_forward(step_, bottom_);
}

void DlrmStep::forward_tables() {
  begin(DlrmMoment::Lookups);
  inputs_.before_lookup();
  embeddings_.forward([&](std::size_t group) { inputs_.before_lookup_of(group); });
}

void DlrmStep::forward() {
  if (is_hybrid()) {  // sent together
    if (part_.bottom) {
      forward_bottom();
    }
    forward_tables();
    embeddings_.receive();
  } else if (is_distributed()) {
    forward_tables();
    forward_bottom();
    embeddings_.receive();
  } else {
    forward_bottom();
    forward_tables();
  }
  begin(DlrmMoment::Interaction);
  {
    const ModuleRange module{step_, "interaction"};
    interaction_forward(step_, interaction_);
    cross_forward(step_, cross_);
  }
  begin(DlrmMoment::TopMlp);
  const ModuleRange module{step_, "top_mlp"};
  mlp_forward(step_, top_);
}

void DlrmStep::loss() {
  const ModuleRange phase{step_, "loss"};
  inputs_.copy_labels();
  if (is_mixed(setup_.precision)) {
    step_.op("aten::to", {kernels::cast(local_batch_, product_type(setup_.precision), DataType::FP32)});
  }
  regression_loss_forward(step_, spec_.loss, local_batch_);
  if (scales_loss()) {
    scale_loss_forward(step_);
  }
  if (spec_.loss_readback) {
    step_.blocking_copy("aten::to", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

void DlrmStep::backward() {
  const ModuleRange phase{step_, "backward"};
  if (!parameters_.empty()) {
    zero_gradients(step_, optimizer(), parameters_);
  }
  step_.op("aten::ones_like", {kernels::fill(1, DataType::FP32)});
  GradientBuckets buckets{step_, setup_.parallelism.buckets(), shared_parameters_.size()};
  GradientSink gradients{step_, &buckets, step_.framework().zero_gradients};
  step_.on_autograd_thread([&] {
    begin(DlrmMoment::Backward);
    const ModuleRange range{step_, "backward"};
    if (scales_loss()) {
      scale_loss_backward(step_);
    }
    regression_loss_backward(step_, spec_.loss, local_batch_);
    if (is_mixed(setup_.precision)) {
      step_.op("ToCopyBackward0",
               {kernels::cast(local_batch_, DataType::FP32, product_type(setup_.precision))});
    }
    gradients.train(trains(ModelPart::TopMlp));
    mlp_backward(step_, top_, gradients, trains_below_top());
    gradients.train(true);
    if (trains_below_top()) {
      backward_below_top(gradients);
    }
    buckets.finish();
    if (trains(ModelPart::Embedding)) {
      embeddings_.finish_backward();
    }
  });
}

void DlrmStep::backward_below_top(GradientSink& gradients) {
  begin(DlrmMoment::BelowTop);
  cross_backward(step_, cross_, gradients);
  interaction_backward(step_, interaction_);
  const bool sends = is_distributed() && trains(ModelPart::Embedding);
  if (sends) {
    embeddings_.send_gradients();
  }
  if (is_hybrid()) {
    backward_tables();
    GradientSink own{step_, nullptr, step_.framework().zero_gradients};
    backward_bottom(own);
  } else if (is_distributed()) {  // the nodes created last run first: the exchange was awaited after the
                                  // bottom MLP
    backward_bottom(gradients);
    backward_tables();
  } else {
    backward_tables();
    backward_bottom(gradients);
  }
}

void DlrmStep::backward_tables() {
  begin(DlrmMoment::TablesBackward);
  if (trains(ModelPart::Embedding)) {
    embeddings_.backward();
  }
}

void DlrmStep::backward_bottom(GradientSink& gradients) {
  begin(DlrmMoment::BottomBackward);
  if (part_.bottom && trains(ModelPart::BottomMlp)) {
    mlp_backward(step_, bottom_, gradients, false);
  }
}

/// A step that trains tables alone has nothing to update.
void DlrmStep::update_dense() {
  if (parameters_.empty()) {
    return;
  }
  if (spec_.embedding_kernels == EmbeddingKernels::EmbeddingBag &&
      spec_.sparse_gradients) {  // foreach has none
    optimizer_step_by_tensor(step_, {.kind = optimizer()}, parameters_);
  } else {
    optimizer_step(step_, {.kind = optimizer()}, parameters_);
  }
}

void DlrmStep::update() {
  begin(DlrmMoment::Update);
  const ModuleRange phase{step_, "optimizer"};
  if (scales_loss()) {
    unscale_gradients(step_, parameters_);
    if (trains(ModelPart::Embedding)) {
      embeddings_.unscale();
    }
  }
  update_dense();
  if (trains(ModelPart::Embedding)) {
    embeddings_.update();
  }
  if (scales_loss()) {
    update_scale(step_);
  }
}

DlrmMemoryShape DlrmStep::memory_shape() const {
  return {.bottom = bottom_,
          .top = top_,
          .interaction = interaction_,
          .cross = cross_,
          .bags = embeddings_.looks_up() ? embeddings_.bags() : std::span<const EmbeddingBagShape>{},
          .features = feature_type(),
          .activations = storage_type(setup_.precision),
          .has_dense = part_.bottom,
          .trains_bottom = trains(ModelPart::BottomMlp),
          .trains_top = trains(ModelPart::TopMlp),
          .trains_tables = trains(ModelPart::Embedding),
          .hybrid = is_hybrid(),
          .optimizer = spec_.optimizer,
          .framework = step_.framework(),
          .ranks = step_.ranks(),
          .batches = inputs_.batches(),
          .index = inputs_.index_size(),
          .moments = moments_};
}

}  // namespace lockstep
