#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/gradient_buckets.hpp"
#include "ops/workload/layers/embedding_exchange.hpp"
#include "ops/workload/layers/input_distribution.hpp"
#include "ops/workload/table_shards.hpp"
#include "ops/workload/training_setup.hpp"

namespace lockstep {

/// The part of a step that the ranks of one program do.
struct DlrmPart {
  bool bottom = true;        ///< they compute the bottom MLP (BottomMlpPlacement)
  std::vector<bool> tables;  ///< by group: they hold some of it

  auto operator<=>(const DlrmPart&) const = default;
};

/// The embedding tables of a DLRM, group by group of equal sharding: looked up and exchanged as
/// torchrec/distributed/embeddingbag.py does. Ranks that hold no table of a group launch nothing for it:
/// their lookup has no operator and leaves an empty tensor. *Source*:
/// torchrec/distributed/embedding_lookup.py (embeddings_cat_empty_rank_handle); of joint tables
/// dlrm/nn/parts.py of NVIDIA/DeepLearningExamples (num_categorical_features > 0). The loop of
/// facebookresearch/dlrm refuses to run with fewer tables than ranks.
class DlrmEmbeddings {
 public:
  /// @param groups none empty, at least one
  /// @param part as many tables as groups
  /// @param features type of the features that the model goes on with
  DlrmEmbeddings(StepWriter& step, const DlrmSpec& spec, const TrainingSetup& setup,
                 std::vector<ShardGroup> groups, DataType features, DlrmPart part);
  DlrmEmbeddings(const DlrmEmbeddings&) = delete;
  DlrmEmbeddings& operator=(const DlrmEmbeddings&) = delete;

  /// Looks up group after group; each one's rows leave at once where there are several ranks.
  /// @param before_group called with the number of the group
  void forward(const std::function<void(std::size_t group)>& before_group);
  void receive();         ///< the rows are there
  void send_gradients();  ///< the gradients leave
  /// Updates the tables, in reverse; gradients of data-parallel ones go to their own DistributedDataParallel.
  void backward();
  void finish_backward();
  void unscale();  ///< gradients that the optimizer is about to add
  void update();   ///< adds them

  [[nodiscard]] bool looks_up() const;  ///< in some group
  [[nodiscard]] bool holds(std::size_t group) const { return part_.tables[group]; }
  [[nodiscard]] std::int64_t pieces() const;  ///< tensors that receive() leaves
  [[nodiscard]] std::int64_t lookups(std::size_t rank) const;
  [[nodiscard]] std::int64_t offsets(std::size_t rank) const;
  [[nodiscard]] std::vector<InputGroup> inputs() const;
  [[nodiscard]] std::span<const EmbeddingBagShape> bags() const { return bags_; }  ///< by group
  /// Elements of the parameters that the dense optimizer updates: the data-parallel tables', as one.
  [[nodiscard]] std::vector<std::int64_t> dense_parameters() const;

 private:
  void backward_of(std::size_t group);

  StepWriter& step_;
  RankNodes ranks_;
  DlrmPart part_;
  std::vector<ShardGroup> groups_;
  std::vector<EmbeddingBagShape> bags_;       // by group
  std::vector<EmbeddingExchange> exchanges_;  // by group
  GradientBuckets buckets_;
};

}  // namespace lockstep
