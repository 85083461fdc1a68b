/// @file
/// What a stage keeps from step to step: parameters, gradients, optimizer states, on the GPU and on the host.

#include <algorithm>
#include <numeric>

#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"
#include "ops/workload/parallel/stage_writer.hpp"
#include "ops/workload/parallel/trained_states.hpp"

namespace lockstep {
namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
}

}  // namespace

/// Embedding and head, then the stage's layers; torchao gathers weights of FP8 products as such.
std::vector<GatherUnit> StageWriter::units() const {
  const int kept = (has_embedding() ? 1 : 0) + (has_head() && !(model_.tied && has_embedding()) ? 1 : 0);
  const std::int64_t tables = vocabulary_share() * model_.hidden * kept;
  const auto part = [&](std::int64_t elements, std::int64_t narrow, std::int64_t frozen) {
    return GatherPart{
        .elements = elements,
        .narrow = narrow,
        .frozen = frozen,
        .size = scope_.bytes(elements - narrow) + size_of(DataType::FP8) * static_cast<double>(narrow)};
  };
  std::vector<GatherUnit> units{
      {.dense = part(tables, 0, is_frozen(scope_) ? tables : frozen_tables()), .expert = {}}};
  for (const LayerRange& range : plan_.layers) {
    for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
      const LayerParameters of_layer = parameters(layer);
      const std::int64_t narrow = casts_before_gather(scope_) ? of_layer.linear : 0;
      units.push_back({.dense = part(elements_of(of_layer.dense) + of_layer.frozen, narrow, of_layer.frozen),
                       .expert = part(elements_of(of_layer.expert), 0, 0)});
    }
  }
  return units;
}

/// Elements of tables of words that are frozen, embedding's and output's.
std::int64_t StageWriter::frozen_tables() const {
  const int embedding = has_embedding() && !trains(ModelPart::Embedding) ? 1 : 0;
  const int output = has_head() && part_of_output() == ModelPart::Head && !trains(ModelPart::Head) ? 1 : 0;
  return vocabulary_share() * model_.hidden * (embedding + output);
}

std::size_t StageWriter::unit_of(std::int64_t layer) const {
  return static_cast<std::size_t>(layer) + 1;
}

void StageWriter::plan_gathers(int chunk, bool forward) {
  std::vector<std::size_t> order;
  const LayerRange& range = plan_.layers_of(stage_, chunk);
  const std::int64_t first = forward ? range.first : std::max(range.first, lowest_layer());
  for (std::int64_t layer = first; layer < range.first + range.count; ++layer) {
    order.push_back(unit_of(layer));
  }
  if (forward && has_tables()) {
    order.insert(order.begin(), 0);
  }
  if (!forward) {
    std::reverse(order.begin(), order.end());
  }
  gather_.plan(std::move(order));
}

void StageWriter::allocate_states() {
  memory_.allocate(MemoryUse::Parameters, weight_copies(scope_, fp8_copies_));
  for (const bool expert : {false, true}) {
    allocate_trained(scope_, host_memory_,
                     {.elements = static_cast<double>(elements_of(expert ? expert_ : dense_)),
                      .expert = expert,
                      .type = type_of_trained(),
                      .optimizes = optimizes()});
  }
  allocate_frozen();
}

/// In the type of products, FSDP's shares, too.
void StageWriter::allocate_frozen() {
  const int ranks = plan_.spec.sharding == Sharding::Zero3 ? plan_.replication(false).shard : 1;
  memory_.allocate(MemoryUse::Parameters, scope_.bytes(frozen_) / ranks);
}

/// Type of trained parameters.
DataType StageWriter::type_of_trained() const {
  return has_fp32_adapters(scope_) ? DataType::FP32 : scope_.storage();
}

/// A pipeline's stage keeps what it gathered until its last micro-batch, and so may FSDP.
bool StageWriter::drops_parameters(const StageAction& action) const {
  const bool keeps = plan_.spec.pipeline > 1 || plan_.spec.keeps_gathered_parameters();
  return !keeps || action.micro_batch + 1 == plan_.micro_batches;
}

Bytes StageWriter::passing_gradients(std::int64_t layer) const {
  const LayerParameters of_layer = parameters(layer);
  return lockstep::passing_gradients(scope_, elements_of(of_layer.dense) + elements_of(of_layer.expert));
}

/// PyTorch's FSDP: the gradient of a head of its own from the beginning of a backward pass to its end.
Bytes StageWriter::waiting_gradients(int chunk) const {
  const bool is_shared = model_.tied && has_embedding();  // which is there at the end
  if (is_frozen(scope_) || !trains(ModelPart::Head)) {
    return Bytes{0};
  }
  const bool keeps_whole = !plan_.spec.reduce_each_micro_batch && plan_.micro_batches > 1;
  if (!plan_.spec.is_fsdp() || !plan_.is_last(stage_, chunk) || is_shared || keeps_whole) {
    return Bytes{0};
  }
  return scope_.bytes(vocabulary_share() * model_.hidden);
}

void StageWriter::begin_step() {
  if (has_embedding() || has_head()) {
    loader_.begin_step(plan_.micro_batches);
  }
  const bool leave_gpu = host_optimizer_.is_used() && plan_.spec.sharding == Sharding::Zero2;
  const bool are_dropped = plan_.spec.sharding == Sharding::Zero3 || is_llama(scope_);
  if (are_dropped || leave_gpu || !optimizes()) {
    return;  // gradients are dropped, or added to, instead of filled
  }
  const auto kept = [&](const std::vector<std::int64_t>& parameters, bool expert) {
    const int ranks = plan_.spec.sharding == Sharding::Zero2 ? plan_.replication(expert).shard : 1;
    return static_cast<double>(elements_of(parameters)) / ranks;
  };
  const double elements = kept(dense_, false) + kept(expert_, true);
  const DataType type = plan_.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  step_.program().begin("zero_grad_buffer");
  step_.launch({"Memset (Device)", type, Memset{.size = elements * size_of(type)}});
  step_.program().end();
}

}  // namespace lockstep
