#pragma once

#include <string_view>

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Counts tokens of experts that are not padded. Only the GPU knows how many come to each, but the exchange
/// and the experts' products are called with these numbers. The ranks that have all experts together gather
/// them, and a stream of their own copies sums of them to the host. The host waits for that before it
/// launches the exchange. What it had launched ahead runs out meanwhile.
/// *Source*: Megatron-LM core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher (preprocess,
/// _maybe_dtoh_and_synchronize), core 0.12.
///
/// Where uneven loads lose tokens, it waits before these are copied for their experts.
void count_tokens(const LayerScope& scope);
void wait_for_counts(const LayerScope& scope);

/// A collective of so many 64-bit counts, for whose end the compute stream waits; nothing for one rank alone.
void communicate_counts(const LayerScope& scope, CollectiveKind kind, std::string_view group, int ranks,
                        std::int64_t counts);

}  // namespace lockstep
