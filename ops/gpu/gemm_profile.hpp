#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

/// One tile shape of the matrix-product library: the part of C that one thread block computes.
struct GemmTile {
  int rows = 128;
  int columns = 128;
  int warps = 8;
  double efficiency = 0.8;  ///< of the SM's peak in the inner loop, SM full

  template <class Visitor>
  static void describe(Visitor& key, GemmTile& tile) {
    key.required("rows", tile.rows, "rows of C in a tile");
    key.required("columns", tile.columns, "columns of C in a tile");
    key.required("warps", tile.warps, "warps of the thread block that computes it");
    key.required("efficiency", tile.efficiency, "of the SM's peak in the inner loop, with the SM full");
  }
  /// @throws FieldError for a size below 1 or an efficiency outside ]0, 1]
  void check() const;
};

/// Costs of long rows, probably misses of address translation where each of a tile's rows lies on pages
/// of its own (ops/kernels/gemm.hpp). Zeros: nothing.
struct LongRows {
  double slowdown = 0;  ///< extra time over that of short rows once rows are long, many rows
  Bytes from{};         ///< rows up to here cost nothing
  Bytes to{};           ///< rows from here on cost all of it, in between in proportion

  template <class Visitor>
  static void describe(Visitor& key, LongRows& rows) {
    key.required("slowdown", rows.slowdown,
                 "extra time over that of short rows, e.g. 2 for three times as long");
    key.required("from", rows.from, "rows up to here cost nothing, e.g. 16 KiB");
    key.required("to", rows.to, "rows from here on cost all of it");
  }
  /// @throws FieldError for a negative slowdown or a range that does not grow
  void check() const;
};

/// How the matrix-product library of one GPU model uses it (ops/kernels/gemm.hpp has the equation).
struct GemmProfile {
  std::string source;
  bool calibrated = false;  ///< fitted to measurements on this GPU model: KernelEfficiency::provenance says
  std::vector<GemmTile> tiles;
  double fixed_depth = 12;    ///< prologue and epilogue of a tile, in columns of A
  double half_warps = 1;      ///< resident warps at which an SM reaches half its rate
  double memory = 0.8;        ///< of the DRAM bandwidth that operands and result stream at
  double exposed = 0;         ///< part of the operands' reading, wave by wave, that arithmetic does not hide
  double unaligned = 1;       ///< of the rate when rows of a matrix are no multiple of 16 bytes
  std::optional<double> odd;  ///< of the rate when they are no multiple of 4 either; none: as `unaligned`
  double odd_along_k = 0.67;  ///< of `odd` when rows of both operands run along k
  std::vector<GemmTile> unaligned_tiles;  ///< of kernels for such rows; none: as `tiles`
  /// p of (arithmetic^p + writing^p)^(1/p), the result's writing beside a product's arithmetic; none: the
  /// longer hides the shorter.
  std::optional<double> write_overlap;
  double one_across_k = 1;    ///< of the rate when rows of one operand do not run along k
  double both_across_k = 1;   ///< of the rate when neither's do, as in gradients of weights
  bool promotes_fp8 = false;  ///< FP8's split accumulators cost additions in FP32
  LongRows long_rows;
  Seconds fixed{3e-6};                        ///< launch to first tile and last tile to end
  int largest_split = 1;                      ///< parts into which k may be split
  std::optional<double> most_tiles_to_split;  ///< per SM: with more, k stays whole; none: any number

  template <class Visitor>
  static void describe(Visitor& key, GemmProfile& gemm) {
    key.required("source", gemm.source, "which measurements the figures were fitted to");
    key.required("tiles", gemm.tiles, "tile shapes the library may choose from");
    key.required("fixed_depth", gemm.fixed_depth, "prologue and epilogue of a tile, in columns of A");
    key.required("half_warps", gemm.half_warps, "resident warps at which an SM reaches half its rate");
    key.required("memory", gemm.memory, "fraction of the DRAM bandwidth operands and result stream at");
    key.optional("exposed", gemm.exposed, 0, "part of the operands' reading that arithmetic does not hide");
    key.optional("unaligned", gemm.unaligned, 1, "of the rate when rows are no multiple of 16 bytes");
    key.optional(
        "odd", gemm.odd, std::nullopt,
        "of the rate when rows are no multiple of 4 bytes: an odd number of 16 bits; ~: as 'unaligned'");
    key.optional("odd_along_k", gemm.odd_along_k, 0.67,
                 "of 'odd' when rows of both operands run along k, as in a linear layer's forward pass");
    key.optional(
        "unaligned_tiles", gemm.unaligned_tiles, std::vector<GemmTile>{},
        "tile shapes of the kernels for rows that are no multiple of 16 bytes, which write the result "
        "behind their arithmetic; none: as 'tiles'");
    key.optional("write_overlap", gemm.write_overlap, std::nullopt,
                 "how arithmetic and the result's writing hide each other: p of (arithmetic^p + "
                 "writing^p)^(1/p), 1: not at all; ~: the longer hides the shorter");
    key.optional("one_across_k", gemm.one_across_k, 1,
                 "of the rate when rows of one operand do not run along k, where instructions read both so");
    key.optional("both_across_k", gemm.both_across_k, 1,
                 "of the rate when those of neither do, as in gradients of weights");
    key.optional("promotes_fp8", gemm.promotes_fp8, false,
                 "FP8's split accumulators are added up by FP32's cores every 128 of k, most of it hidden; "
                 "false: tensor cores add in FP32 themselves");
    key.optional("long_rows", gemm.long_rows, LongRows{}, "what rows beyond a page's size cost");
    key.required("fixed", gemm.fixed, "duration of the smallest product, e.g. 3 us");
    key.optional("largest_split", gemm.largest_split, 1, "parts into which k may be split");
    key.optional("most_tiles_to_split", gemm.most_tiles_to_split, std::nullopt,
                 "tiles per SM up to which the library splits k, e.g. 0.65; ~: any number");
  }
  /// @throws FieldError for a profile without tiles or a fraction outside ]0, 1]
  void check() const;
};

}  // namespace lockstep
