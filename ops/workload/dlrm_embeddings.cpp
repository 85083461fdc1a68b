#include "ops/workload/dlrm_embeddings.hpp"

#include <algorithm>
#include <utility>

#include "ops/workload/gradient_sink.hpp"

namespace lockstep {
namespace {

EmbeddingBagShape bags_of(const ShardGroup& group, const DlrmSpec& spec, std::int64_t global_batch,
                          std::size_t ranks, DataType features) {
  const bool dense = group.sharding == TableSharding::DataParallel || !spec.sparse_gradients;
  return {.batch = dense ? global_batch / static_cast<std::int64_t>(ranks) : global_batch,
          .tables = group.shards,
          .kernels = spec.embedding_kernels,
          .optimizer = dense ? dense_optimizer(spec.optimizer) : table_optimizer(spec.optimizer),
          .fixed = spec.fixed_bags,
          .dense = dense,
          .features = features};
}

SentBeside beside_of(const DlrmSpec& spec, const DlrmPart& part) {
  if (spec.bottom_mlp_placement == BottomMlpPlacement::EveryRank) {
    return {};
  }
  return {.width = spec.bottom_mlp.back(), .here = part.bottom};
}

}  // namespace

DlrmEmbeddings::DlrmEmbeddings(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                               std::vector<ShardGroup> groups, DataType features, DlrmPart part)
    : step_{step},
      ranks_{step.ranks(), setup.gpu_nodes},
      part_{std::move(part)},
      groups_{std::move(groups)},
      buckets_{step, setup.parallelism.buckets(), 1} {
  for (const ShardGroup& group : groups_) {
    bags_.push_back(bags_of(group, spec, setup.global_batch, step.ranks(), features));
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    exchanges_.emplace_back(
        step_, ExchangedTables{groups_[group], bags_[group], holds(group), beside_of(spec, part_)}, ranks_,
        setup.parallelism.embedding.communication_type);
  }
}

void DlrmEmbeddings::forward(const std::function<void(std::size_t group)>& before_group) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (holds(group)) {
      const ModuleRange module{step_, "embedding_lookup"};
      before_group(group);
      embedding_bag_forward(step_, bags_[group]);
    }
    if (step_.ranks() > 1) {
      exchanges_[group].start_forward();
    }
  }
}

void DlrmEmbeddings::receive() {
  for (EmbeddingExchange& exchange : exchanges_) {
    exchange.finish_forward();
  }
}

void DlrmEmbeddings::send_gradients() {
  for (std::size_t group = exchanges_.size(); group-- > 0;) {
    exchanges_[group].start_backward();
  }
}

void DlrmEmbeddings::backward() {
  for (std::size_t group = groups_.size(); group-- > 0;) {
    backward_of(group);
  }
}

void DlrmEmbeddings::backward_of(std::size_t group) {
  if (step_.ranks() > 1) {
    exchanges_[group].finish_backward();
  }
  if (holds(group)) {
    embedding_bag_backward(step_, bags_[group]);
  }
  GradientSink gradients{step_, &buckets_, step_.framework().zero_gradients};
  for (const std::int64_t elements : bags_[group].dense_parameters()) {
    gradients.accumulate(elements);
  }
}

void DlrmEmbeddings::finish_backward() {
  if (!dense_parameters().empty()) {
    buckets_.finish();
  }
}

void DlrmEmbeddings::unscale() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (holds(group)) {
      embedding_bag_unscale(step_, bags_[group]);
    }
  }
}

void DlrmEmbeddings::update() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (holds(group)) {
      embedding_bag_update(step_, bags_[group]);
    }
  }
}

bool DlrmEmbeddings::looks_up() const {
  return std::ranges::find(part_.tables, true) != part_.tables.end();
}

std::int64_t DlrmEmbeddings::pieces() const {
  std::int64_t pieces = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    pieces += bags_[group].kernels == EmbeddingKernels::EmbeddingBag  // on the only rank
                  ? static_cast<std::int64_t>(bags_[group].tables.front().size())
                  : exchanges_[group].pieces();
  }
  return pieces;
}

std::int64_t DlrmEmbeddings::lookups(std::size_t rank) const {
  std::int64_t lookups = 0;
  for (const EmbeddingBagShape& bags : bags_) {
    lookups += bags.lookups(rank);
  }
  return lookups;
}

std::int64_t DlrmEmbeddings::offsets(std::size_t rank) const {
  std::int64_t offsets = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    offsets += holds(group) ? bags_[group].offsets(rank) : 0;
  }
  return offsets;
}

std::vector<InputGroup> DlrmEmbeddings::inputs() const {
  std::vector<InputGroup> inputs;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const TableSharding sharding = groups_[group].sharding;
    const bool everywhere = sharding == TableSharding::RowWise || sharding == TableSharding::DataParallel;
    const std::size_t holders = everywhere                                ? ranks_.ranks()
                                : sharding == TableSharding::TableRowWise ? ranks_.nodes().front().size()
                                                                          : 1;
    inputs.push_back({sharding, bags_[group], static_cast<std::int64_t>(holders), holds(group)});
  }
  return inputs;
}

std::vector<std::int64_t> DlrmEmbeddings::dense_parameters() const {
  std::vector<std::int64_t> parameters;
  for (const EmbeddingBagShape& bags : bags_) {
    const std::vector<std::int64_t> of_group = bags.dense_parameters();
    parameters.insert(parameters.end(), of_group.begin(), of_group.end());
  }
  return parameters;
}

}  // namespace lockstep
