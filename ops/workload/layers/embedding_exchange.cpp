#include "ops/workload/layers/embedding_exchange.hpp"

#include <algorithm>

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr const char* kNode = "node";    // the ranks of one node
constexpr const char* kCross = "cross";  // ranks at the same place of their nodes

}  // namespace

EmbeddingExchange::EmbeddingExchange(StepWriter& step, const ExchangedTables& tables, const RankNodes& ranks,
                                     const CommunicationTypes& types)
    : step_{step},
      group_{tables.group},
      bags_{tables.bags},
      ranks_{ranks},
      types_{types},
      here_{tables.here},
      beside_{tables.beside} {
  if (group_.sharding == TableSharding::TableRowWise) {
    step_.partition(kNode, ranks.nodes());
    step_.partition(kCross, ranks.across_nodes());
  }
}

bool EmbeddingExchange::is_all_to_all() const {
  return group_.sharding == TableSharding::TableWise || group_.sharding == TableSharding::ColumnWise;
}

bool EmbeddingExchange::crosses_nodes() const {
  return group_.sharding == TableSharding::TableRowWise && ranks_.nodes().size() > 1;
}

std::int64_t EmbeddingExchange::pieces() const {
  if (!is_all_to_all()) {
    return 1;
  }
  std::int64_t pieces = 0;
  for (std::size_t rank = 0; rank < ranks_.ranks(); ++rank) {
    pieces += width(rank) > 0 ? 1 : 0;
  }
  return pieces;
}

std::int64_t EmbeddingExchange::local_batch() const {
  return is_exchanged() ? bags_.batch / static_cast<std::int64_t>(ranks_.ranks()) : bags_.batch;
}

std::int64_t EmbeddingExchange::width(std::size_t rank) const {
  return bags_.width(rank) + (rank == 0 ? beside_.width : 0);
}

std::int64_t EmbeddingExchange::pooled(std::size_t rank) const {
  return bags_.batch * width(rank);
}

std::int64_t EmbeddingExchange::within_node(std::size_t rank) const {
  return pooled(rank) / static_cast<std::int64_t>(ranks_.nodes().front().size());
}

DataType EmbeddingExchange::travelling(CommunicationType type) const {
  return bags_.features == DataType::FP32 ? wire_type(type) : bags_.features;
}

Bytes EmbeddingExchange::travelling(std::int64_t elements, CommunicationType type) const {
  const auto count = static_cast<double>(elements);
  return bags_.features == DataType::FP32 ? encoded_size(count, type) : count * size_of(bags_.features);
}

Channel EmbeddingExchange::reduction_channel() const {
  return group_.sharding == TableSharding::RowWise ? Channel{}
                                                   : Channel{.group = kNode, .stream = "nccl node"};
}

Channel EmbeddingExchange::exchange_channel() const {
  return is_all_to_all() ? Channel{} : Channel{.group = kCross, .stream = "nccl cross"};
}

std::vector<std::size_t> EmbeddingExchange::partners() const {
  std::vector<std::size_t> partners;
  if (crosses_nodes()) {
    for (const auto& node : ranks_.nodes()) {
      partners.push_back(node.front());
    }
  } else {
    for (std::size_t peer = 0; peer < ranks_.ranks(); ++peer) {
      partners.push_back(peer);
    }
  }
  return partners;
}

CollectiveCall EmbeddingExchange::all_to_all(std::size_t rank, GroupId group, bool backward) const {
  const CommunicationType type = backward ? types_.backward : types_.forward;
  CollectiveCall call{.kind = CollectiveKind::AllToAll,
                      .type = travelling(type),
                      .group = group,
                      .size = {},
                      .send_bytes = {}};
  const std::vector<std::size_t> members = partners();
  bool even = true;
  for (const std::size_t peer : members) {
    // Forward every peer gets its samples of my tables; backward the gradients of its tables for my samples.
    const Bytes bytes = travelling(local_batch() * width(backward ? peer : rank), type);
    call.send_bytes.push_back(bytes.in_base_units());
    call.size += bytes;
    even = even && width(peer) == width(members.front());
  }
  if (even) {
    call.send_bytes.clear();
  }
  return call;
}

CollectiveCall EmbeddingExchange::summed(std::size_t rank, GroupId group, bool backward) const {
  const CommunicationType type = backward ? types_.backward : reducible(types_.forward);
  return {.kind = backward ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter,
          .type = travelling(type),
          .group = group,
          .size = travelling(pooled(rank), type),
          .send_bytes = {}};
}

EventId EmbeddingExchange::reduce_scatter() {
  step_.program().begin("ReduceScatterBase_Req");
  if (here_) {
    encode(step_, reducible(types_.forward), [&](std::size_t rank) { return pooled(rank); });
  }
  const EventId end = step_.communicate(
      [&](std::size_t rank, GroupId group) { return summed(rank, group, false); }, reduction_channel());
  step_.program().end();
  return end;
}

EventId EmbeddingExchange::all_gather() {
  step_.program().begin("ReduceScatterBase_WaitBackward");
  if (here_) {
    encode(step_, types_.backward, [&](std::size_t rank) {
      return group_.sharding == TableSharding::RowWise ? wanted() : within_node(rank);
    });
  }
  const EventId end = step_.communicate(
      [&](std::size_t rank, GroupId group) { return summed(rank, group, true); }, reduction_channel());
  step_.program().end();
  return end;
}

void EmbeddingExchange::start_forward() {
  if (!is_exchanged()) {
    return;
  }
  if (!is_all_to_all()) {
    pending_ = reduce_scatter();
    if (!crosses_nodes()) {
      return;
    }
    step_.program().begin("ReduceScatterBase_Wait");
    step_.wait_for(pending_);
    if (here_) {
      decode(step_, reducible(types_.forward), [&](std::size_t rank) { return within_node(rank); });
    }
    step_.program().end();
  }
  step_.program().begin("All2All_Req");
  const auto sent = [&](std::size_t rank) { return is_all_to_all() ? pooled(rank) : within_node(rank); };
  const int parts = (here_ ? 1 : 0) + (beside_.here ? 1 : 0);
  if (parts > (takes_slices() ? 1 : 0)) {
    step_.launch_by_rank(
        [&](std::size_t rank) { return kernels::concat(sent(rank), parts, bags_.features); });
  }
  if (sends_rows()) {
    encode(step_, types_.forward, sent);
  }
  pending_ = step_.communicate(
      [&](std::size_t rank, GroupId group) { return all_to_all(rank, group, false); }, exchange_channel());
  step_.program().end();
}

void EmbeddingExchange::finish_forward() {
  if (!is_exchanged()) {
    return;
  }
  const bool sums_last = !is_all_to_all() && !crosses_nodes();
  step_.program().begin(sums_last ? "ReduceScatterBase_Wait" : "All2All_Wait");
  step_.wait_for(pending_);
  decode(step_, sums_last ? reducible(types_.forward) : types_.forward,
         [&](std::size_t) { return wanted(); });
  step_.program().end();
  if (group_.sharding == TableSharding::ColumnWise) {  // pieces of a table come together
    step_.op("fbgemm::permute_pooled_embs",
             {{"permute_pooled_embs_kernel", bags_.features, Pointwise{.elements = wanted()}}});
  }
}

void EmbeddingExchange::contiguous_gradients() {
  const std::vector<std::size_t> from = partners();
  std::int64_t copied = 0;
  for (const std::size_t peer : from) {
    if (width(peer) > 0) {
      step_.launch(kernels::strided_copy(local_batch() * width(peer), bags_.features));
      ++copied;
    }
  }
  if (!takes_slices()) {
    step_.launch(kernels::concat(wanted(), copied, bags_.features));
  }
}

void EmbeddingExchange::start_backward() {
  if (!is_exchanged()) {
    return;
  }
  if (group_.sharding == TableSharding::ColumnWise) {
    step_.op("fbgemm::permute_pooled_embs",
             {{"permute_pooled_embs_kernel", bags_.features, Pointwise{.elements = wanted()}}});
  }
  if (!is_all_to_all() && !crosses_nodes()) {
    pending_ = all_gather();
    return;
  }
  step_.program().begin("All2All_WaitBackward");
  contiguous_gradients();
  encode(step_, types_.backward, [&](std::size_t) { return wanted(); });
  pending_ = step_.communicate([&](std::size_t rank, GroupId group) { return all_to_all(rank, group, true); },
                               exchange_channel());
  step_.program().end();
}

void EmbeddingExchange::finish_all_gather(EventId end) {
  step_.program().begin("ReduceScatterBase_ReqBackward");
  step_.wait_for(end);
  if (here_) {
    decode(step_, types_.backward, [&](std::size_t rank) { return pooled(rank); });
    step_.launch_by_rank([&](std::size_t rank) { return kernels::scale(pooled(rank), bags_.features); });
  }
  step_.program().end();
}

void EmbeddingExchange::finish_backward() {
  if (!is_exchanged()) {
    return;
  }
  if (!is_all_to_all() && !crosses_nodes()) {
    return finish_all_gather(pending_);
  }
  const auto received = [&](std::size_t rank) { return is_all_to_all() ? pooled(rank) : within_node(rank); };
  step_.program().begin("All2All_ReqBackward");
  step_.wait_for(pending_);
  if (sends_rows()) {
    decode(step_, types_.backward, received);
    if (!takes_slices()) {
      step_.launch_by_rank(
          [&](std::size_t rank) { return kernels::strided_copy(received(rank), bags_.features); });
    }
  }
  step_.program().end();
  if (crosses_nodes()) {
    finish_all_gather(all_gather());
  }
}

}  // namespace lockstep
