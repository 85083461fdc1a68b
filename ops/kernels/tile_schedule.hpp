#pragma once

namespace lockstep {

/// Tiles of attention under a causal mask: `rows` of a head, the first of few columns, the last of all of
/// them.
struct RaggedTiles {
  double heads = 1, rows = 1;
  double columns = 0;  ///< of a tile on the mean
  double once = 0;     ///< columns in whose time each does what it does once
};

/// What the fullest of @p sms SMs does over the mean of all, at least 1: a tile goes to the SM that is free
/// first, head after head, the shortest of a head first (blockIdx.x of FlashAttention-2's and xFormers'
/// kernels is the tile), so that long ones of the last heads are left over. Tile i of n has columns (2 i + 1)
/// / n of the mean's. What is left over hardly depends on how many heads there were before: eight tiles an SM
/// are gone through.
[[nodiscard]] double ragged_share(const RaggedTiles& tiles, int sms);

}  // namespace lockstep
