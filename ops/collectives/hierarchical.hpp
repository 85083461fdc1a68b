#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Inside the k nodes of m members each (on the rings of the layout), then between the members that sit at
/// the same place of their nodes ("rails"), n = k m:
///
///   all-reduce      ring reduce-scatter inside, ring all-reduce on each rail, ring all-gather inside
///                   2 (m-1)/m * size inside, 2 (k-1)/k * size/m between; 2 (m-1) and 2 (k-1) steps
///   reduce-scatter  inside, then on the rails; half of each; all-gather the other way round
///   all-to-all      inside, every member hands to each neighbour what that one's rail is to carry
///                   (size/m a pair), then direct all-to-all on the rails (size/k a pair); 1 and 1 steps
///
/// The phases follow one another for each piece of the buffer but overlap between pieces: all edges advance
/// together, as everywhere in CollectivePlan.
/// Chunks: owner * channels + channel; all-to-all: src * n + dst (even splits only).
///
/// Source: P. Goyal et al., "Accurate, Large Minibatch SGD", arXiv 1706.02677 (2017), sec. 4.1 (all-reduce);
/// J. Rasley et al., DeepSpeed-MoE, arXiv 2201.05596, sec. 5.3 (hierarchical all-to-all).
extern const CommAlgorithmRow kHierarchical;

}  // namespace lockstep
