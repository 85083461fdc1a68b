#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/workload/batch_loader.hpp"
#include "ops/workload/layers/cross_entropy.hpp"
#include "ops/workload/parallel/layer_scope.hpp"
#include "ops/workload/parallel/parameter_gather.hpp"
#include "ops/workload/parallel/pipeline_schedule.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// The ranks that a StageWriter's Program is for.
struct StageRanks {
  int stage = 0;
  BytesPerSecond host_bandwidth{0};  ///< of each one's share of host memory; > 0 where the plan offloads
};

/// Writes the step of one pipeline stage: the Program of all ranks of that stage on hosts of one kind.
class StageWriter {
 public:
  StageWriter(StepWriter& step, const TransformerSpec& model, const ParallelPlan& plan,
              const TrainingSetup& setup, const StageRanks& ranks);
  StageWriter(const StageWriter&) = delete;
  StageWriter& operator=(const StageWriter&) = delete;

  void write();

  [[nodiscard]] const MemoryLedger& memory() const { return memory_; }
  /// Host memory, for each rank.
  [[nodiscard]] const MemoryLedger& host_memory() const { return host_memory_; }

 private:
  struct Transfer {
    CollectiveKind kind;
    const char* group;
    int peer;
    Bytes size;
  };

  /// Messages that are left from one action to the next.
  struct Messages {
    std::vector<EventId> sends;                  ///< not waited for yet
    std::array<std::vector<EventId>, 2> posted;  ///< forward, backward: receives that began ahead
    std::array<bool, 2> has_come{};              ///< likewise: inputs of the next actions
    std::optional<int> unsent;                   ///< chunk whose forward output goes with the next exchange
    bool owes_gradient = false;                  ///< to the stage before
    bool operator==(const Messages&) const = default;
  };

  /// Instructions written for an action, to be repeated for those like it.
  struct CachedAction {
    StageAction::Kind kind;
    int chunk;
    StageExchange behind;  ///< of actions, their chunks alone
    Messages before, after;
    bool forward_follows;
    std::array<std::size_t, 2> instructions, memory;  ///< from, to
  };

  void allocate_states();
  void allocate_frozen();
  [[nodiscard]] DataType type_of_trained() const;
  void begin_step();
  void act(const StageAction& action, const StageExchange& behind);
  [[nodiscard]] bool is_like_others(const StageAction& action) const;
  void write(const StageAction& action);
  void forward(const StageAction& action);
  void backward(const StageAction& action, BackwardParts parts);
  void cast_fp8_weights(std::int64_t layer, bool first);
  void update_fp8_scales(int chunk, std::int64_t tensors_of_product);
  void layer_forward(std::int64_t layer, bool differentiated);
  void layer_again(std::int64_t layer, Recompute recompute);
  void layer_backward(std::int64_t layer, BackwardParts parts);
  void embedding_forward();
  void embedding_backward();
  void head_forward();
  void head_backward(BackwardParts parts);
  void loss();
  void read_loss();
  [[nodiscard]] bool compiles_loss() const;
  [[nodiscard]] CrossEntropyShape eager_loss() const;
  void eager_loss_forward();
  void eager_loss_backward();
  [[nodiscard]] bool optimizes() const { return setup_.phases == Phases::Step; }
  void finish_gradients();
  void update();
  [[nodiscard]] std::int64_t fp8_elements_of(bool expert) const;
  /// F.cross_entropy of a Llama that is not compiled, whose logits go when the head's backward has been.
  [[nodiscard]] bool has_eager_loss() const { return is_llama(scope_) && !compiles_loss(); }
  /// Logits in FP32, or as much of them.
  [[nodiscard]] Bytes wide_logits() const;
  [[nodiscard]] Bytes kept_by_last_norm() const;
  [[nodiscard]] bool uses_torch_optimizer() const;
  [[nodiscard]] Bytes passing_gradients(std::int64_t layer) const;
  [[nodiscard]] Bytes waiting_gradients(int chunk) const;
  void receive(const StageAction& action);
  void post_receive(StageAction::Kind kind, int chunk, std::vector<EventId>& ends);
  [[nodiscard]] std::vector<StageExchange> exchanges(const std::vector<StageAction>& actions) const;
  [[nodiscard]] static std::size_t place_of(StageAction::Kind kind);
  [[nodiscard]] std::vector<EventId>& posted(StageAction::Kind kind);
  void gather_message();
  void send(const StageAction& action);
  void send(StageAction::Kind kind, int chunk);
  void exchange(const StageExchange& behind);
  void fetch(int chunk);
  void transfer(const Transfer& transfer, std::vector<EventId>& ends);
  void wait_for_transfers();
  [[nodiscard]] Bytes message_size() const;
  [[nodiscard]] bool sends_tensors_one_by_one() const;
  void receive_one_by_one(const StageAction& action);
  void send_one_by_one(const StageAction& action);
  void exchange_activations(CollectiveKind kind, int peer, int receiver);
  void exchange(const Transfer& tensor);
  [[nodiscard]] bool waits_for_sends() const;
  [[nodiscard]] bool is_batched() const;
  [[nodiscard]] bool waits_for_device() const;
  [[nodiscard]] bool has_experts(std::int64_t layer) const;
  [[nodiscard]] std::optional<std::int64_t> expert_layer(std::int64_t layer) const;
  [[nodiscard]] bool has_embedding() const { return plan_.is_first(stage_, 0); }
  [[nodiscard]] bool has_head() const { return plan_.is_last(stage_, plan_.spec.chunks - 1); }
  [[nodiscard]] LayerParameters parameters(std::int64_t layer) const;
  /// Parameters of embedding or head, where this stage has them.
  [[nodiscard]] std::vector<std::int64_t> parameters_of_end(ModelPart part) const;
  [[nodiscard]] std::int64_t frozen_tables() const;
  [[nodiscard]] bool trains(ModelPart part, std::int64_t layer = 0) const {
    return !setup_.frozen.has(part, layer);
  }
  /// The part that the output's weight is of.
  [[nodiscard]] ModelPart part_of_output() const {
    return model_.tied && has_embedding() ? ModelPart::Embedding : ModelPart::Head;
  }
  /// The layer that backward comes to last.
  [[nodiscard]] std::int64_t lowest_layer() const {
    return setup_.frozen.lowest_reached(ModelPart::Layers, model_.layers, trains(ModelPart::Embedding));
  }
  [[nodiscard]] Bytes kept_by_chunk(int chunk) const;
  [[nodiscard]] std::int64_t vocabulary_share() const;
  [[nodiscard]] std::vector<GatherUnit> units() const;
  [[nodiscard]] std::size_t unit_of(std::int64_t layer) const;
  void plan_gathers(int chunk, bool forward);
  [[nodiscard]] bool has_tables() const { return has_embedding() || has_head(); }
  [[nodiscard]] bool drops_parameters(const StageAction& action) const;

  StepWriter& step_;
  const TransformerSpec& model_;
  const ParallelPlan& plan_;
  const TrainingSetup& setup_;
  int stage_;
  MemoryLedger memory_, host_memory_;
  HostOptimizer host_optimizer_;
  GradientReduction gradients_;
  LayerScope scope_;
  std::vector<std::int64_t> dense_, expert_;         // elements of this rank's parameters that are trained
  std::int64_t frozen_ = 0;                          // and of those that are not
  std::int64_t fp8_copies_ = 0;                      // elements of weights that have FP8 copies at a time
  std::int64_t fp8_elements_ = 0, fp8_weights_ = 0;  // of all weights of FP8 products, and how many there are
  ParameterGather gather_;
  BatchLoader loader_;
  Messages messages_;
  std::vector<EventId> receives_;
  bool sends_later_ = false;      // the action that is written
  bool forward_follows_ = false;  // it
  std::vector<CachedAction> cached_actions_;
};

}  // namespace lockstep
