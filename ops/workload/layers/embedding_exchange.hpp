#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/layers/communication_codec.hpp"
#include "ops/workload/layers/embedding_bag.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {

/// Elements that the first rank sends with its rows, a sample.
struct SentBeside {
  std::int64_t width = 0;
  bool here = false;  ///< this program is the first rank's
};

/// The tables that are exchanged, and the part that the ranks of this program have in it.
struct ExchangedTables {
  const ShardGroup& group;
  const EmbeddingBagShape& bags;
  bool here = true;  ///< they hold some of the group's tables
  SentBeside beside = {};
};

/// Brings the pooled rows of one group of tables to the ranks of their samples, and gradients back. There are
/// W ranks, B samples, b = B / W of them on a rank, and G ranks a node. A sample has D elements of all tables
/// of the group, d of those on a rank or node:
///
///   sharding               forward                                     backward
///   table-, column-wise    all-to-all: b d to every rank               all-to-all: b d of the receiver
///   row-wise               reduce-scatter of B D                       all-gather of B D
///   table-row-wise         reduce-scatter of B d within the node;      all-to-all of b d of the receiver;
///                          all-to-all between ranks at one place of    all-gather of B d within the node
///                          their nodes: b G d / G to each
///   data-parallel          nothing                                     nothing; gradients are
///                                                                      all-reduced
///
/// Elements are FP32, or encoded (CommunicationTypes), or of the features' 16 bits (EmbeddingBagShape).
/// What the first rank sends beside its rows (the bottom MLP's output) counts as rows of one table more.
/// Tensors without elements are neither put together nor copied nor encoded: no kernel is launched for them
/// (TensorIterator and torch.cat of PyTorch return at once).
/// *Source*: torchrec/distributed/comm_ops.py, {tw,cw,rw,twrw}_sharding.py; for table-wise the operators of
/// facebookresearch/dlrm's extend_distributed.py.
class EmbeddingExchange {
 public:
  EmbeddingExchange(StepWriter& step, const ExchangedTables& tables, const RankNodes& ranks,
                    const CommunicationTypes& types);

  void start_forward();    ///< the rows leave
  void finish_forward();   ///< the compute stream has them
  void start_backward();   ///< gradients leave
  void finish_backward();  ///< the lookup's backward can begin

  /// How many tensors finish_forward() leaves.
  [[nodiscard]] std::int64_t pieces() const;

 private:
  [[nodiscard]] bool sends_rows() const { return here_ || beside_.here; }  ///< this program's ranks do
  [[nodiscard]] bool is_exchanged() const { return group_.sharding != TableSharding::DataParallel; }
  [[nodiscard]] bool is_all_to_all() const;
  /// Joint tables: torch.distributed.all_to_all sends and fills slices of samples where they are.
  [[nodiscard]] bool takes_slices() const { return bags_.kernels == EmbeddingKernels::Joint; }
  [[nodiscard]] DataType travelling(CommunicationType type) const;
  [[nodiscard]] Bytes travelling(std::int64_t elements, CommunicationType type) const;
  [[nodiscard]] bool crosses_nodes() const;
  [[nodiscard]] std::int64_t local_batch() const;
  [[nodiscard]] std::int64_t width(std::size_t rank) const;   ///< d, and what the first sends beside
  [[nodiscard]] std::int64_t pooled(std::size_t rank) const;  ///< elements a rank sends: B d
  [[nodiscard]] std::int64_t wanted() const {                 ///< of a rank's samples
    return local_batch() * (group_.width + beside_.width);
  }
  [[nodiscard]] std::int64_t within_node(std::size_t rank) const;  ///< B d / G

  /// A rank for each member of the all-to-all that holds the same tables: ranks of a node do.
  [[nodiscard]] std::vector<std::size_t> partners() const;
  [[nodiscard]] CollectiveCall all_to_all(std::size_t rank, GroupId group, bool backward) const;
  [[nodiscard]] CollectiveCall summed(std::size_t rank, GroupId group, bool backward) const;
  [[nodiscard]] EventId reduce_scatter();
  [[nodiscard]] EventId all_gather();
  [[nodiscard]] Channel reduction_channel() const;  ///< of sums
  [[nodiscard]] Channel exchange_channel() const;   ///< of all-to-alls
  void finish_all_gather(EventId end);
  void contiguous_gradients();

  StepWriter& step_;
  const ShardGroup& group_;
  const EmbeddingBagShape& bags_;
  const RankNodes& ranks_;
  CommunicationTypes types_;
  bool here_;
  SentBeside beside_;
  EventId pending_ = 0;
};

}  // namespace lockstep
