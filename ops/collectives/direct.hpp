#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Most members whose n (n-1) pairs are written out; beyond, an all-to-all has its sums (exchange_sums.hpp).
inline constexpr int kMostWrittenOut = 1024;
[[nodiscard]] bool writes_out_pairs(const GroupLayout& layout);

/// Send and receive: one message, not one for each pair.
[[nodiscard]] bool is_message(CollectiveKind kind);

/// The amount that s sends to d, in buffers.
[[nodiscard]] double pair_share(const CollectiveRequest& request, int members, int s, int d);

/// Every member with every other at once. All-to-all: member s sends piece (s, d) to d; even, or as the byte
/// matrix of the request says. All-gather and reduce-scatter: each piece straight from or to all others;
/// all-reduce: a reduce-scatter, then an all-gather. Send and receive: the one message.
///
///   all-to-all                  1 step,  size / n on each of n (n-1) edges, or bytes[s, d]
///   all-gather, reduce-scatter  1 step,  size / n
///   all-reduce                  2 steps, 2 size / n
///   send, receive               1 step,  size
///
/// Chunks: all-to-all src * n + dst; send and receive 0; else the owner.
///
/// Source: NCCL's point-to-point kernels, of which PyTorch's all-to-all is made (ncclSend and ncclRecv in one
/// group, NCCL user guide, "Point-to-point communication").
extern const CommAlgorithmRow kDirect;

}  // namespace lockstep
