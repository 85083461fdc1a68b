#include "ops/workload/dlrm_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr const char* kDistribution = "data_dist";
constexpr const char* kCopies = "memcpy";

DataType data_type(IndexType type) {
  return type == IndexType::Int32 ? DataType::INT32 : DataType::INT64;
}

Bytes bytes_of(std::int64_t elements, DataType type) {
  return static_cast<double>(elements) * size_of(type);
}

/// Lookups of @p samples samples in all tables.
std::int64_t lookups_of(const std::vector<EmbeddingTable>& tables, std::int64_t samples) {
  double sum = 0;
  for (const EmbeddingTable& table : tables) {
    sum += table.pooling_factor * static_cast<double>(samples);
  }
  return std::llround(sum);
}

}  // namespace

DlrmInputs::DlrmInputs(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                       const DlrmEmbeddings& embeddings, std::int64_t dense_samples)
    : step_{step},
      spec_{spec},
      setup_{setup},
      embeddings_{embeddings},
      local_batch_{setup.global_batch / static_cast<std::int64_t>(step.ranks())},
      dense_samples_{dense_samples},
      loader_{step, setup, local_batch_} {
  if (setup.parallelism.embedding.input_distribution && step.ranks() > 1) {
    distribution_.emplace(step, embeddings.inputs(), local_batch_, data_type(spec.index_type), prefetches());
  }
}

Bytes DlrmInputs::index_size() const {
  return size_of(data_type(spec_.index_type));
}

bool DlrmInputs::has_offsets() const {
  return spec_.embedding_kernels != EmbeddingKernels::Joint &&  // which has one lookup a bag
         !spec_.fixed_bags;
}

/// In one tensor; with offsets nn.EmbeddingBag's are a list, but where every sample has one lookup: they are
/// stacked (dlrm_data_pytorch.py: collate_wrapper_random_offset, collate_wrapper_criteo_offset).
void DlrmInputs::copy_indices(const Copy& copy) const {
  const DataType index = data_type(spec_.index_type);
  const std::vector<EmbeddingTable> tables = spec_.all_tables();
  const bool stacked = spec_.fixed_bags || std::ranges::all_of(tables, [](const auto& table) {
                         return table.pooling_factor == 1;
                       });
  if (spec_.embedding_kernels == EmbeddingKernels::EmbeddingBag && !stacked) {
    for (const EmbeddingTable& table : tables) {
      copy([&](std::size_t) { return bytes_of(lookups_of({table}, local_batch_), index); });
    }
    return;
  }
  copy([&](std::size_t rank) { return bytes_of(embeddings_.lookups(rank), index); });
}

/// Sparse features and dense ones, in the order of the training loop.
void DlrmInputs::copy_batch(const Copy& copy) const {
  const DataType index = data_type(spec_.index_type);
  if (spec_.input_on_device) {
    return;
  }
  if (setup_.parallelism.embedding.input_distribution) {
    const std::vector<EmbeddingTable> tables = spec_.all_tables();
    const auto bags = local_batch_ * static_cast<std::int64_t>(tables.size());
    copy([&](std::size_t) { return bytes_of(lookups_of(tables, local_batch_), index); });
    copy([&](std::size_t) { return bytes_of(bags, DataType::INT32); });
  } else if (embeddings_.looks_up()) {
    copy_indices(copy);
    if (has_offsets()) {
      copy([&](std::size_t rank) { return bytes_of(embeddings_.offsets(rank), index); });
    }
  }
  if (dense_samples_ > 0) {
    copy([&](std::size_t) { return bytes_of(dense_samples_ * spec_.bottom_mlp.front(), DataType::FP32); });
  }
}

void DlrmInputs::blocking_copies() {
  copy_batch([&](const auto& size) { loader_.copy(size, BatchLoader::Copy::Blocking); });
}

void DlrmInputs::copy_labels() {
  if (!prefetches() && !spec_.input_on_device) {
    loader_.copy(bytes_of(local_batch_, DataType::FP32), BatchLoader::Copy::Blocking);
  }
}

void DlrmInputs::copy_ahead() {
  const ModuleRange phase{step_, "copy_batch_to_gpu"};
  const StreamScope stream{step_, kCopies};
  const auto copy = [&](const std::function<Bytes(std::size_t rank)>& size) {
    loader_.copy(size, BatchLoader::Copy::NonBlocking);
  };
  copy_batch(copy);
  copy([&](std::size_t) { return bytes_of(local_batch_, DataType::FP32); });  // labels
  step_.program().record(step_.current(), step_.program().event("batch copied"));
}

void DlrmInputs::let_compute_wait_for(const char* stream) {
  ProgramBuilder& program = step_.program();
  const EventId now = program.event(fmt::format("end of {}", stream));
  program.record(program.stream(stream), now);
  program.stream_wait(step_.compute(), now);
}

void DlrmInputs::start_distribution() {
  const ModuleRange phase{step_, "start_sparse_data_dist"};
  const StreamScope stream{step_, kDistribution};
  step_.wait_for(step_.program().event("batch copied"));
  distribution_->start();
}

void DlrmInputs::prefetch() {
  const EventId copied = step_.program().event("batch copied");
  step_.program().carry(copied);
  {
    const ModuleRange phase{step_, "wait_for_batch"};
    if (distribution_) {
      let_compute_wait_for(kDistribution);
    } else {
      step_.wait_for(copied);
    }
  }
  if (distribution_) {
    start_distribution();
  }
  loader_.next();
  copy_ahead();
  if (spec_.synchronize_each_step) {
    step_.program().wait_device();
  }
}

void DlrmInputs::begin_step() {
  loader_.begin_step(1);
  if (prefetches()) {
    prefetch();
  } else {
    loader_.next();
    blocking_copies();
  }
}

void DlrmInputs::before_lookup() {
  if (!distribution_) {
    return;
  }
  const ModuleRange phase{step_, prefetches() ? "wait_sparse_data_dist" : "sparse_data_dist"};
  if (prefetches()) {
    distribution_->carry_over();
    {
      const StreamScope stream{step_, kDistribution};
      distribution_->receive();
    }
    let_compute_wait_for(kDistribution);
  } else {
    distribution_->start();
    distribution_->send();
    distribution_->receive();
  }
}

void DlrmInputs::before_lookup_of(std::size_t group) {
  if (distribution_) {
    distribution_->offsets(group);
  }
}

void DlrmInputs::before_backward() {
  if (distribution_ && prefetches()) {
    const ModuleRange phase{step_, "wait_sparse_data_dist"};
    const StreamScope stream{step_, kDistribution};
    distribution_->send();
  }
}

}  // namespace lockstep
