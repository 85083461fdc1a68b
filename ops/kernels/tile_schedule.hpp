#pragma once

namespace lockstep {

/// Tiles of attention under a causal mask: `rows` of a head, each of as many columns more than the one before
/// as a tile has rows.
struct RaggedTiles {
  double heads = 1, rows = 1;
  double columns = 0;  ///< of a tile on the mean
  double more = 0;     ///< columns of a tile than of the one before, at most 2 columns / rows
  double once = 0;     ///< columns in whose time each does what it does once
};

/// Work of the fullest of @p sms SMs over the mean of all, at least 1. A tile goes to the SM that is free
/// first, head after head, the shortest of a head first (blockIdx.x of FlashAttention-2's and xFormers'
/// kernels is the tile). So long ones of the last heads are left over. What is left over hardly depends
/// on how many heads there were before: eight tiles an SM are gone through.
[[nodiscard]] double ragged_share(const RaggedTiles& tiles, int sms);

}  // namespace lockstep
