#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/workload/layers/embedding_bag.hpp"
#include "ops/workload/step_writer.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {

/// Lookups of one group of tables, and how they are cut.
struct InputGroup {
  TableSharding sharding = TableSharding::TableWise;
  EmbeddingBagShape bags;
  std::int64_t holders = 1;  ///< ranks that hold each feature's table: parts of its rows, or copies
  bool here = true;          ///< the ranks of this program hold some
};

/// TorchRec's input distribution: every rank has the indices of its own samples for all tables, and sends
/// them to where they are looked up. With b samples a rank and W ranks:
///
///   start()    features put in the order of their groups; those cut by rows sorted into blocks; all-to-all
///   of
///              how much is coming: 3 int64 a rank and group
///   send()     the host waits for these numbers (a blocking copy); all-to-all of lengths (b int32 for each
///   table
///              of the receiver) and of values (the receiver's lookups of b samples)
///   receive()  the current stream waits; features put together by table; the host waits for their lengths
///   offsets()  what the lookup of each group takes
///
/// Ranks without a table of a group tell and hear sizes and take part in its all-to-alls, nothing more
/// (_get_recat is None, and KeyedJaggedTensor.dist_init has nothing to permute).
///
/// Data-parallel groups need only offsets(). *Assumes* that ranks look up equally much, and uniform rows.
/// Checked: the kernels of ../shared/data/traces/dlrm_8xv100 and torchrec_pipeline_4xv100.
/// *Source*: torchrec/distributed/dist_data.py, embedding_sharding.py, rw_sharding.py.
class InputDistribution {
 public:
  /// @param fused one all-to-all tells the sizes of all groups, as in a pipeline, instead of one for each
  InputDistribution(StepWriter& step, std::span<const InputGroup> groups, std::int64_t local_batch,
                    DataType index, bool fused);

  void start();
  void send();
  void receive();
  void offsets(std::size_t group);

  /// Lets send() of one step come before receive() of the next.
  void carry_over();

 private:
  [[nodiscard]] std::string name(const char* what, std::size_t group) const;
  /// The same on every rank, by member.
  [[nodiscard]] CollectiveCall to_owners(std::size_t group, DataType type, bool lengths) const;
  void bucketize(std::size_t group);
  void tell_sizes(std::size_t first, std::size_t last);
  void wait_for_sizes(std::size_t first, std::size_t last);
  void send_tensors(std::size_t group);
  void receive_group(std::size_t group);

  /// Counts for a rank's samples.
  struct Local {
    std::int64_t lookups = 0;
    std::int64_t bags = 0;
  };

  StepWriter& step_;
  std::vector<InputGroup> groups_;  // exchanged ones first
  std::vector<Local> local_;        // by group
  std::size_t exchanged_ = 0;
  std::int64_t local_batch_;
  DataType index_;
  bool fused_;
};

}  // namespace lockstep
