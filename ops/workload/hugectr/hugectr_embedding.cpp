#include "ops/workload/hugectr/hugectr_embedding.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/embedding_rows.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kKey = DataType::INT32;  // i64_input_key: False
constexpr const char* kNodePeers = "node";
constexpr const char* kRail = "cross";

/// Different rows of all tables, in elements.
double distinct_elements(const EmbeddingBagShape& shape, std::size_t rank) {
  double sum = 0;
  for (const EmbeddingTable& table : shape.tables[rank]) {
    const double lookups = table.pooling_factor * static_cast<double>(shape.batch);
    sum += distinct_rows(table, lookups) * static_cast<double>(table.dimension);
  }
  return sum;
}

}  // namespace

HugeCtrEmbedding::HugeCtrEmbedding(StepWriter& step, const HugeCtrTables& tables, const RankNodes& ranks,
                                   DataType features)
    : step_{step}, tables_{tables}, ranks_{ranks}, features_{features} {
  if (tables.hierarchical) {
    step_.partition(kNodePeers, ranks.nodes());
    step_.partition(kRail, ranks.across_nodes());
  }
}

double HugeCtrEmbedding::pooled(std::size_t rank) const {
  return static_cast<double>(tables_.sharded.batch * tables_.sharded.width(rank));
}

double HugeCtrEmbedding::received() const {
  std::int64_t width = 0;
  if (tables_.hierarchical) {
    for (const auto& node : ranks_.nodes()) {
      width += tables_.sharded.width(node.front());
    }
  } else {
    for (std::size_t rank = 0; rank < ranks_.ranks(); ++rank) {
      width += tables_.sharded.width(rank);
    }
  }
  return static_cast<double>(local_batch() * width);
}

double HugeCtrEmbedding::wanted() const {
  return static_cast<double>(local_batch() * tables_.sharded_width);
}

/// One kernel over so many elements of the rank.
void HugeCtrEmbedding::pass(const char* name, DataType type, const Elements& elements, double reads,
                            double writes) {
  step_.launch_by_rank([&](std::size_t rank) {
    return KernelCall{name, type,
                      Pointwise{.elements = std::llround(elements(rank)), .reads = reads, .writes = writes}};
  });
}

void HugeCtrEmbedding::bags(const EmbeddingBagShape& shape, Direction direction, const char* name) {
  step_.launch_by_rank([&](std::size_t rank) {
    if (shape.tables[rank].empty()) {
      return KernelCall{name, DataType::FP32, Pointwise{.elements = 0}};
    }
    EmbeddingBags work{.batch = shape.batch,
                       .tables = shape.tables[rank],
                       .direction = direction,
                       .optimizer = &shape == &tables_.replicated ? Optimizer::Sgd : shape.optimizer,
                       .pooled = features_};
    return KernelCall{name, DataType::FP32, std::move(work)};
  });
}

void HugeCtrEmbedding::look_up() {
  const auto lookups = [&](std::size_t rank) { return static_cast<double>(tables_.sharded.lookups(rank)); };
  pass("ragged_static_table_lookup_kernel", kKey, lookups, 1, 2);  // where each row begins: an address
  bags(tables_.sharded, Direction::Forward, "multi_to_one_weight_kernel");
}

void HugeCtrEmbedding::look_up_replicated() {
  if (!tables_.replicates()) {
    return;
  }
  const auto lookups = [&](std::size_t rank) {
    return static_cast<double>(tables_.replicated.lookups(rank));
  };
  pass("ragged_static_table_lookup_kernel", kKey, lookups, 1, 2);
  bags(tables_.replicated, Direction::Forward, "multi_to_one_weight_kernel");
}

CollectiveCall HugeCtrEmbedding::rows_to_samples(std::size_t rank, GroupId group, bool backward) const {
  CollectiveCall call{
      .kind = CollectiveKind::AllToAll, .type = features_, .group = group, .size = {}, .send_bytes = {}};
  std::vector<std::size_t> peers;
  for (std::size_t peer = 0; peer < ranks_.ranks(); ++peer) {
    if (!tables_.hierarchical || ranks_.nodes()[ranks_.node_of(peer)].front() == peer) {
      peers.push_back(peer);  // hierarchical: one of each node, whose ranks hold the same tables
    }
  }
  for (const std::size_t peer : peers) {
    const std::int64_t width = tables_.sharded.width(backward ? peer : rank);
    const Bytes bytes = static_cast<double>(local_batch() * width) * size_of(features_);
    call.send_bytes.push_back(bytes.in_base_units());
    call.size += bytes;
  }
  const bool even = std::ranges::all_of(peers, [&](std::size_t peer) {
    return tables_.sharded.width(peer) == tables_.sharded.width(peers[0]);
  });
  if (even) {
    call.send_bytes.clear();
  }
  return call;
}

void HugeCtrEmbedding::exchange(bool backward) {
  if (!is_distributed() || (tables_.hierarchical && !crosses_nodes())) {
    return;
  }
  step_.wait_for(step_.communicate(
      [&](std::size_t rank, GroupId group) { return rows_to_samples(rank, group, backward); },
      {.group = tables_.hierarchical ? kRail : "world"}));
}

void HugeCtrEmbedding::within_node(CollectiveKind kind) {
  if (!tables_.hierarchical || ranks_.nodes().front().size() == 1) {
    return;
  }
  step_.wait_for(step_.communicate(
      [&](std::size_t rank, GroupId group) {
        return CollectiveCall{.kind = kind,
                              .type = features_,
                              .group = group,
                              .size = pooled(rank) * size_of(features_),
                              .send_bytes = {}};
      },
      {.group = kNodePeers}));
}

void HugeCtrEmbedding::exchange_forward() {
  within_node(CollectiveKind::AllToAll);
  if (tables_.hierarchical) {
    const auto peers = static_cast<double>(ranks_.nodes().front().size());
    pass(
        "intra_node_reduction_kernel", features_, [&](std::size_t rank) { return pooled(rank) / peers; },
        peers, 1);
  }
  exchange(false);
  pass(
      "network_forward_kernel", features_, [&](std::size_t) { return wanted(); }, received() / wanted(), 1);
}

void HugeCtrEmbedding::exchange_backward() {
  pass(
      "network_backward_kernel", features_, [&](std::size_t) { return received(); }, wanted() / received(),
      1);
  exchange(true);
  within_node(CollectiveKind::AllGather);
}

void HugeCtrEmbedding::sort(const EmbeddingBagShape& shape) {
  double most_rows = 1;
  for (const auto& tables : shape.tables) {
    double rows = 0;
    for (const EmbeddingTable& table : tables) {
      rows += static_cast<double>(table.rows);
    }
    most_rows = std::max(most_rows, rows);
  }
  const auto lookups = [&](std::size_t rank) { return static_cast<double>(shape.lookups(rank)); };
  pass("DeviceRadixSortHistogramKernel", kKey, lookups, 1, 0);
  const int passes = std::max(1, static_cast<int>(std::ceil(std::log2(most_rows) / 8)));
  for (int i = 0; i < passes; ++i) {
    pass("DeviceRadixSortOnesweepKernel", kKey, lookups, 2, 2);  // keys and where they came from
  }
  pass("get_keys_flag_kernel", kKey, lookups, 1, 1);
  pass("DeviceScanKernel", kKey, lookups, 1, 1);
  pass("get_unique_key_kernel", kKey, lookups, 2, 2);
}

void HugeCtrEmbedding::sort() {
  sort(tables_.sharded);
  if (tables_.replicates()) {
    sort(tables_.replicated);
  }
}

void HugeCtrEmbedding::update() {
  bags(tables_.sharded, Direction::Backward, "multi_to_one_reduce_and_update_kernel");
  pass(
      "wgrad", DataType::FP32, [&](std::size_t rank) { return distinct_elements(tables_.sharded, rank); }, 1,
      1);
}

void HugeCtrEmbedding::reduce_replicated() {
  if (!tables_.replicates()) {
    return;
  }
  step_.launch(kernels::fill(tables_.replicated.weights(0), features_));
  bags(tables_.replicated, Direction::Backward, "multi_to_one_reduce_kernel");
}

void HugeCtrEmbedding::update_replicated() {
  if (!tables_.replicates()) {
    return;
  }
  const double gradient = size_of(features_) / size_of(DataType::FP32);
  const double state = tables_.replicated.optimizer == Optimizer::Adagrad ? 1 : 0;
  pass(
      "update4_kernel", DataType::FP32,
      [&](std::size_t rank) { return static_cast<double>(tables_.replicated.weights(rank)); },
      gradient + 1 + state, 1 + state);
}

void HugeCtrEmbedding::distribute() {
  const auto ranks = static_cast<double>(ranks_.ranks());
  double all = 0;
  for (std::size_t rank = 0; rank < ranks_.ranks(); ++rank) {
    all += static_cast<double>(tables_.sharded.lookups(rank));
  }
  pass(
      "label_and_count_keys_kernel", kKey, [&](std::size_t) { return all / ranks; }, 1, 0);
  pass(
      "swizzle_keys_kernel", kKey, [&](std::size_t) { return all / ranks; }, 1, 1);
  if (is_distributed()) {
    CollectiveCall call{.kind = CollectiveKind::AllToAll, .type = kKey, .size = {}, .send_bytes = {}};
    for (std::size_t peer = 0; peer < ranks_.ranks(); ++peer) {
      const Bytes bytes = static_cast<double>(tables_.sharded.lookups(peer)) / ranks * size_of(kKey);
      call.send_bytes.push_back(bytes.in_base_units());
      call.size += bytes;
    }
    step_.wait_for(step_.communicate(call, {.group = "world"}));
  }
  pass(
      "concat_keys_and_bucket_range_kernel", kKey,
      [&](std::size_t rank) { return static_cast<double>(tables_.sharded.lookups(rank)); }, 1, 1);
}

void HugeCtrEmbedding::keep_keys() {
  step_.launch_by_rank([&](std::size_t rank) {
    const std::int64_t keys = tables_.sharded.lookups(rank) + tables_.replicated.lookups(rank);
    return kernels::copy_on_device(static_cast<double>(keys) * size_of(kKey));
  });
}

}  // namespace lockstep
