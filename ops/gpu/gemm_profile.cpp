#include "ops/gpu/gemm_profile.hpp"

#include "base/parameters.hpp"

namespace lockstep {

void GemmTile::check() const {
  if (rows < 1) throw FieldError("rows", "a tile has at least one row");
  if (columns < 1) throw FieldError("columns", "a tile has at least one column");
  if (warps < 1) throw FieldError("warps", "a thread block has at least one warp");
  if (!(efficiency > 0 && efficiency <= 1)) throw FieldError("efficiency", "a fraction above 0, at most 1");
}

void LongRows::check() const {
  if (slowdown < 0) throw FieldError("slowdown", "at least 0");
  if (slowdown > 0 && !(to > from)) throw FieldError("to", "above 'from'");
}

void GemmProfile::check() const {
  if (tiles.empty()) throw FieldError("tiles", "at least one tile shape is needed");
  if (!(memory > 0 && memory <= 1)) throw FieldError("memory", "a fraction above 0, at most 1");
  if (!(exposed >= 0 && exposed <= 1)) throw FieldError("exposed", "a fraction of 0 to 1");
  if (!(unaligned > 0 && unaligned <= 1)) throw FieldError("unaligned", "a fraction above 0, at most 1");
  if (odd && !(*odd > 0 && *odd <= 1)) throw FieldError("odd", "a fraction above 0, at most 1");
  if (!(odd_along_k > 0 && odd_along_k <= 1))
    throw FieldError("odd_along_k", "a fraction above 0, at most 1");
  if (write_overlap && !(*write_overlap >= 1)) throw FieldError("write_overlap", "at least 1 (no overlap)");
  if (!(one_across_k > 0 && one_across_k <= 1))
    throw FieldError("one_across_k", "a fraction above 0, at most 1");
  if (!(both_across_k > 0 && both_across_k <= 1))
    throw FieldError("both_across_k", "a fraction above 0, at most 1");
  if (fixed_depth < 0) throw FieldError("fixed_depth", "at least 0");
  if (half_warps < 0) throw FieldError("half_warps", "at least 0");
  if (largest_split < 1) throw FieldError("largest_split", "at least 1 (no split)");
  if (most_tiles_to_split && !(*most_tiles_to_split > 0)) {
    throw FieldError("most_tiles_to_split", "above 0 (largest_split: 1 never splits)");
  }
}

}  // namespace lockstep
