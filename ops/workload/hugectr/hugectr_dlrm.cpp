#include "ops/workload/hugectr/hugectr_dlrm.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "ops/workload/hugectr/hugectr_dense.hpp"
#include "ops/workload/hugectr/hugectr_embedding.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kWeights = DataType::FP32;

void check_setup(const TrainingSetup& setup) {
  const EmbeddingPlanSpec& embedding = setup.parallelism.embedding;
  if (setup.precision == Precision::BF16) {
    throw std::invalid_argument{"HugeCTR's mixed precision is fp16, not bf16"};
  }
  if (embedding.input_distribution || embedding.pipeline != InputPipeline::None) {
    throw std::invalid_argument{
        "implementation: hugectr distributes its inputs ahead by itself: leave out input_distribution and "
        "pipeline"};
  }
  if (!(embedding.communication_type == CommunicationTypes{})) {
    throw std::invalid_argument{
        "implementation: hugectr exchanges features in the type of 'precision': leave out "
        "communication_type"};
  }
}

/// A graph's kernels cost the host nothing one by one.
HostOverheads graph_host() {
  HostOverheads host;
  host.runtime_calls[RuntimeCall::LaunchKernel] = Seconds{0};
  return host;
}

class HugeCtrStep {
 public:
  HugeCtrStep(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup, const HugeCtrTables& tables,
              const RankNodes& ranks)
      : step_{step},
        spec_{spec},
        setup_{setup},
        rows_{tables.replicated.batch},
        width_{spec.interaction_width()},
        embedding_{step, tables, ranks, storage_type(setup.precision)},
        bottom_{.rows = rows_, .widths = spec.bottom_mlp},
        top_{.rows = rows_, .widths = {width_}},
        cross_{
            .rows = rows_, .width = width_, .projection = spec.cross_projection, .layers = spec.cross_layers},
        replicated_{tables.replicated.weights(0)} {
    top_.widths.insert(top_.widths.end(), spec.top_mlp.begin(), spec.top_mlp.end());
  }

  void write() {
    step_.program().host_work("cudaGraphLaunch", setup_.host.duration_of(RuntimeCall::LaunchKernel));
    read_batch();
    look_up();
    distribute();
    forward();
    replicated_forward();
    interact_and_return();
    sparse_gradients();
    dense_gradients();
    finish();
  }

  [[nodiscard]] std::int64_t parameters() const {
    return parameters_of(bottom_) + parameters_of(cross_) + parameters_of(top_);
  }

  /// Outputs of all layers, which HugeCTR allocates for good; of the cross layers three a layer and four
  /// more; likewise gradients.
  [[nodiscard]] std::int64_t activations() const {
    std::int64_t of_sample = 2 * width_ + cross_.layers * (2 * width_ + cross_.projection) + 3 * width_;
    for (const HugeCtrMlp* const mlp : {&bottom_, &top_}) {
      for (const std::int64_t width : mlp->widths) {
        of_sample += 2 * width;
      }
    }
    return rows_ * of_sample;
  }

 private:
  [[nodiscard]] EventId event(std::string_view name) { return step_.program().event(name); }
  void record(std::string_view name) { step_.program().record(step_.current(), event(name)); }

  /// The step before has ended: its graph, whose last kernel is on the compute stream.
  void after_last_step() { step_.wait_for(event("step ended")); }

  [[nodiscard]] DataType features() const { return storage_type(setup_.precision); }

  void read_batch() {
    step_.program().carry(event("step ended"));
    step_.program().carry(event("keys distributed"));
    const StreamScope stream{step_, "reader"};
    double keys = 0;
    for (const EmbeddingTable& table : spec_.all_tables()) {
      keys += table.pooling_factor;
    }
    const double bytes = (static_cast<double>(spec_.bottom_mlp.front()) + 1 + keys) * 4;
    step_.launch(kernels::copy_to_device(Bytes{static_cast<double>(rows_) * bytes}, true));
  }

  void look_up() {
    const ModuleRange module{step_, "embedding_lookup"};
    const StreamScope stream{step_, "mp"};
    after_last_step();
    step_.wait_for(event("keys distributed"));
    embedding_.keep_keys();
    record("keys kept");
    embedding_.look_up();
    record("rows looked up");
    embedding_.exchange_forward();
    record("rows exchanged");
  }

  void distribute() {
    const ModuleRange module{step_, "data_distributor"};
    const StreamScope stream{step_, "prefetch"};
    step_.wait_for(event("keys kept"));
    embedding_.distribute();
    record("keys distributed");
  }

  void forward() {
    const ModuleRange module{step_, "bottom_mlp"};
    if (is_mixed(setup_.precision)) {
      const double narrow = size_of(features()) / size_of(kWeights);
      step_.launch(kernels::elementwise("cast", parameters(), kWeights, {.writes = narrow}));
    }
    step_.wait_for(event("rows looked up"));
    hugectr_mlp_forward(step_, bottom_);
  }

  void replicated_forward() {
    const StreamScope stream{step_, "dp"};
    step_.wait_for(event("rows looked up"));
    embedding_.look_up_replicated();
    record("replicated rows looked up");
    embedding_.sort();
    record("lookups sorted");
  }

  void interact_and_return() {
    step_.wait_for(event("rows exchanged"));
    step_.wait_for(event("replicated rows looked up"));
    {
      const ModuleRange module{step_, "top_mlp"};
      step_.launch(kernels::concat(rows_ * width_, 2, features()));
      hugectr_cross_forward(step_, cross_);
      hugectr_mlp_forward(step_, top_);
      step_.launch(
          {"BinaryCrossEntropy_Kernel", kWeights, Pointwise{.elements = rows_, .reads = 2, .flops = 7}});
    }
    const ModuleRange module{step_, "backward"};
    hugectr_mlp_backward(step_, top_, true);
    hugectr_cross_backward(step_, cross_);
    step_.launch(kernels::concat(rows_ * width_, 2, features()));  // taken apart
    record("top MLP returned");
  }

  void sparse_gradients() {
    const ModuleRange module{step_, "embedding_backward"};
    {
      const StreamScope stream{step_, "mp"};
      step_.wait_for(event("top MLP returned"));
      embedding_.exchange_backward();
      step_.wait_for(event("lookups sorted"));
      embedding_.update();
      record("tables updated");
    }
    const StreamScope stream{step_, "dp"};
    step_.wait_for(event("top MLP returned"));
    embedding_.reduce_replicated();
    record("replicated gradients");
  }

  void dense_gradients() {
    {
      const ModuleRange module{step_, "backward"};
      hugectr_mlp_backward(step_, bottom_, false);
    }
    step_.wait_for(event("replicated gradients"));
    if (step_.ranks() > 1) {
      step_.wait_for(
          step_.communicate({.kind = CollectiveKind::AllReduce,
                             .type = features(),
                             .size = static_cast<double>(parameters() + replicated_) * size_of(features()),
                             .send_bytes = {}}));
    }
    record("gradients all-reduced");
    const double gradient = size_of(features()) / size_of(kWeights);
    const double state = spec_.optimizer == DlrmOptimizer::Adagrad ? 1 : 0;
    step_.launch(
        {"ada_grad_update_kernel", kWeights,
         Pointwise{
             .elements = parameters(), .reads = gradient + 1 + state, .writes = 1 + state, .flops = 6}});
  }

  void finish() {
    {
      const StreamScope stream{step_, "dp"};
      step_.wait_for(event("gradients all-reduced"));
      embedding_.update_replicated();
      record("replicated tables updated");
    }
    step_.wait_for(event("replicated tables updated"));
    step_.wait_for(event("tables updated"));
    record("step ended");
  }

  StepWriter& step_;
  const DlrmSpec& spec_;
  const TrainingSetup& setup_;
  std::int64_t rows_, width_;
  HugeCtrEmbedding embedding_;
  HugeCtrMlp bottom_, top_;
  HugeCtrCross cross_;
  std::int64_t replicated_;
};

/// Tables and dense weights with their state, gradients and 16-bit copies; buffers of the whole batch's rows.
MemoryBreakdown memory_of(const HugeCtrStep& step, const HugeCtrTables& tables, std::size_t rank,
                          const DlrmSpec& spec, Bytes feature) {
  const auto elements =
      static_cast<double>(step.parameters() + tables.sharded.weights(rank) + tables.replicated.weights(rank));
  const double weight = size_of(kWeights).in_base_units(), narrow = feature.in_base_units();
  MemoryBreakdown memory;
  memory[MemoryUse::Parameters] = weight * elements + narrow * static_cast<double>(step.parameters());
  memory[MemoryUse::Optimizer] = spec.optimizer == DlrmOptimizer::Adagrad ? weight * elements : 0;
  memory[MemoryUse::Gradients] =
      narrow * static_cast<double>(step.parameters() + tables.replicated.weights(rank));
  memory[MemoryUse::Activations] = narrow * static_cast<double>(step.activations());
  memory[MemoryUse::Communication] =
      2 * narrow * static_cast<double>(tables.sharded.batch * tables.sharded.width(rank));
  return memory;
}

}  // namespace

Job hugectr_dlrm_job(const DlrmSpec& spec, const TrainingSetup& setup,
                     const std::vector<ShardGroup>& groups) {
  check_setup(setup);
  const RankNodes ranks{setup.gpus.size(), setup.gpu_nodes};
  const HugeCtrTables tables = hugectr_tables(spec, groups, setup.global_batch, setup.gpus.size());
  StepWriter step{graph_host(), setup.gpus.size(), setup.framework, setup.precision};
  HugeCtrStep writer{step, spec, setup, tables, ranks};
  writer.write();
  std::vector<MemoryBreakdown> memory;
  for (std::size_t rank = 0; rank < setup.gpus.size(); ++rank) {
    memory.push_back(memory_of(writer, tables, rank, spec, size_of(storage_type(setup.precision))));
  }
  Job job = std::move(step).finish(setup.gpus);
  job.memory = std::move(memory);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].memory = rank;
  }
  return job;
}

}  // namespace lockstep
