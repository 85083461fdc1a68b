#pragma once

#include <functional>
#include <string_view>

#include "ops/workload/hugectr/hugectr_tables.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Launches HugeCTR's embedding collection on the current stream. Communication goes to `nccl`, in the order
/// of these calls, as one communicator has it. There are W ranks, B samples, b = B / W, G ranks a node; and
/// d elements of a sample's pieces on a rank, e bytes of a feature:
///
///   look_up()             rows of the rank's pieces, added up, for B samples
///   exchange_forward()    uniform: all-to-all of b d e to each; hierarchical: within the node B d e / G to
///                         each, sums of G pieces, between ranks at one place of their nodes b d e to each;
///                         then pieces of one table are added up and put in the order of the tables
///   exchange_backward()   in reverse; hierarchical: every rank of a node takes all of B d e
///   sort()                lookups by row: radix sort of 8 bits a pass, different rows marked and counted
///   update()              gradients of each different row added up, then weights and state
///   distribute()          keys of the rank's own samples to the pieces that hold them
///
/// *Assumes* uniform rows; kernels that read or write a neighbour's memory (hierarchical, over NVLink) as a
/// collective and a pass; gradients of different rows written and read once between the two kernels.
/// *Source*: NVIDIA-Merlin/HugeCTR, HugeCTR/embedding/{model_parallel,hier_model_parallel,data_parallel}_
/// embedding.cpp, operators/, data_distributor/; pybind/model_pipeline.cpp (create_train_pipeline_with_ebc).
class HugeCtrEmbedding {
 public:
  HugeCtrEmbedding(StepWriter& step, const HugeCtrTables& tables, const RankNodes& ranks, DataType features);

  void look_up();
  void exchange_forward();
  void sort();
  void exchange_backward();
  void update();

  void look_up_replicated();
  void reduce_replicated();  ///< the dense gradient of replicated tables, of the features' type
  void update_replicated();

  void distribute();
  void keep_keys();  ///< of the batch that was distributed, before the next one comes

 private:
  using Elements = std::function<double(std::size_t rank)>;

  [[nodiscard]] bool is_distributed() const { return ranks_.ranks() > 1; }
  [[nodiscard]] bool crosses_nodes() const { return tables_.hierarchical && ranks_.nodes().size() > 1; }
  [[nodiscard]] std::int64_t local_batch() const { return tables_.replicated.batch; }
  [[nodiscard]] double pooled(std::size_t rank) const;  ///< elements: B d
  [[nodiscard]] double received() const;                ///< elements of all pieces for the rank's samples
  [[nodiscard]] double wanted() const;                  ///< likewise, pieces added up

  void pass(const char* name, DataType type, const Elements& elements, double reads, double writes);
  void bags(const EmbeddingBagShape& shape, Direction direction, const char* name);
  void sort(const EmbeddingBagShape& shape);
  [[nodiscard]] CollectiveCall rows_to_samples(std::size_t rank, GroupId group, bool backward) const;
  void exchange(bool backward);
  void within_node(CollectiveKind kind);

  StepWriter& step_;
  const HugeCtrTables& tables_;
  const RankNodes& ranks_;
  DataType features_;
};

}  // namespace lockstep
