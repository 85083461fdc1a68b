#pragma once

/// @file
/// What a table-batched embedding lookup, or its backward pass, makes a GPU do.

#include <cstdint>
#include <initializer_list>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Sums over tables, and what concerns all of them. Waits count waits for a row in DRAM
/// (KernelEfficiency::row_latency).
struct EmbeddingLoad {
  double dram = 0;           ///< bytes
  double gathered = 0;       ///< bytes of rows that DRAM gives besides: backward, gradients read again
  double level2 = 0;         ///< bytes
  double level1 = 0;         ///< bytes: forward, all rows
  double rows = 0;           ///< forward, that are added up
  double waits = 0;          ///< of all bags, one row after the other
  double block_waits = 0;    ///< backward: of rows with more lookups than a warp adds up, one after the other
  double lookups = 0;        ///< backward, of all rows
  double longest_wait = 0;   ///< of one bag; backward of one row's gradients that a warp adds up
  double longest_block = 0;  ///< backward: of one row with more lookups
  std::int64_t widest = 0;   ///< columns: of the widest table
};

/// How long each part takes alone.
struct EmbeddingTimes {
  Seconds dram, level2, level1, issue, waits, block_waits, longest_wait;
};

/// For a table of N lookups of which d are different rows, B bags, `row` bytes in whole 32-byte sectors:
///
///   cached      X = 0.9 L2 / partitions / (row * tables at a time), Y = 0.7 L1 / (row * tables at a time),
///               tables at a time = bags_at_a_time() / B, from 1 to all
///   misses      m of a cache of X rows (missed_lookups()); with a reuse_factor instead of popularities
///               d where d <= X, else X + (N - X) (d - X) / d, but d at least
///   near        n of SMs with caches of Y rows each, for N / SMs lookups each; N with a reuse_factor
///   forward     DRAM: m * row + B * (row written + 8) + 8 N; level 2: n rows; level 1: N rows;
///               waits: m + 0.22 (n - m) + 0.05 (N - n) + B; longest bag: that of N / B lookups;
///               issue: 51 instructions of a warp for N / (bags of a warp) rows
///   backward    g of the N gradients that it reads miss a cache of 0.9 L2 / partitions, through which rows,
///               states and indices pass (missed_pooled_rows()); a gradient waits r = 0.22 + 0.78 g / N
///               DRAM: 2 d (row + optimizer state) + min(B, N) gradient + B (96 + sectors of indices), and
///               gathered g - min(B, N) gradients; level 2: N gradients
///               waits: d' + r N'; longest: 10 + r times the most lookups of a row, up to 32
///               rows of more than 32 lookups (h, N" of the lookups; d' = d - h, N' = N - N") in a kernel
///               before: 10 h + r N" / 32 waits of blocks, one for each 1024 lookups of all tables, of which
///               an SM has one at a time; longest: 10 + r min(N" / h, 1024) / 32
///
/// Backward where each lookup adds to its row (`atomic`): DRAM 2 m rows; level 2 64 bytes for 8 of a row;
/// waits m + 0.22 (N - m). Four columns of a thread go one after the other, so that a transaction has two
/// numbers of a sector: the counters of ../shared/data/embedding/embedding_kernel_samples_v100.csv, 64
/// level-2 writes for rows of 512 bytes. That a slice does one a clock is the update of DLRM_default there
/// (v100_dlrm_multi_table_embedding_costs.csv: 52 million in 1,276 us, 32 slices at 1,297 MHz).
///
/// The level-2 cache of a GPU in parts holds a row once in each of them. Indices and offsets lie side by
/// side: forward DRAM gives each byte of them once. A bag waits for its indices before its first row.
/// Lookups that ran just before (`repeated`) leave resident_share() of m in the level-2 cache.
///
/// Backward sums the gradients of a row from the pooled ones. It goes through the tables one after the other
/// and through a table in the order of its rows, so that it reads the pooled rows of one table at random,
/// each as often as its bag has lookups: beyond what the level-2 cache holds (65,536 samples of 128 columns
/// are 33.6 MB) they come from DRAM again, as rows of a lookup do (random_rows); `scattered_update` was
/// fitted to updates whose gradients fit. A row with more than 32 lookups has a block of 32 warps to itself,
/// one with more than 1024 several: a block reads where the row's lookups, weights and state are, and adds
/// up its warps' sums behind barriers. DRAM counts rows in GPU memory alone, but their optimizer state
/// wherever they are (FBGEMM keeps row-wise states on the GPU). Rows in host memory: host_traffic().
///
/// *Assumes* uniform indices unless a reuse factor or popularities are given; bags of one table equally long;
/// rows of many lookups read gradients as the others do, though theirs come in the order of samples (a
/// simulated cache agrees within 0.01 of the lookups, within 0.05 where half of them are of such rows).
/// *Source*: 0.9, 45 warps and the misses of a reuse_factor from Lin et al., arXiv 2201.07821 and its public
/// code; backward: FBGEMM embedding_backward_split_template.cu (each distinct row once;
/// max_segment_length_per_warp = 32, max_segment_length_per_cta = 1024; of 2022: blocks of ..._cta_per_row_1
/// are div_round_up(linear_indices.numel(), 32 * kWarpSize), as the grids of both DLRM traces have it). 0.22:
/// 193 cycles of a level-2 hit (Jia et al., arXiv 1804.06826) at 1.5 GHz of the 0.6 us of row_latency.
/// 10: 5.7 ms for 90,837 rows of 174 lookups on 108 SMs (split_embedding_backward_..._cta_per_row_1 in
/// ../shared/data/traces/single_rank/a100_rank3of8); NeuroShard's published network, which was trained on
/// measurements of another GPU, wants 80 ns for each such row at 4 to 64 columns (least squares over 250
/// groups of tables each), 10 x 0.6 us on the 68 SMs of an RTX 2080 Ti are 88 ns.
///
/// 51: FBGEMM's forward loop over the rows of a bag (embedding_forward_split_template.cu of 2022: three
/// shuffles, addresses of 64 bits, cache or table, two groups of four columns), as ptxas compiles it for
/// sm_80; 122 tables that the caches hold (15.8 million rows in 2.5 ms,
/// ../shared/data/traces/single_rank/a100_rank3of8) want 64.
///
/// Level 1: 64 bytes in a clock and some 30 cycles a hit; 0.7 was chosen among 0.3 to 0.9 by lookups
/// of rows drawn by Zipf's law on an H100 and an H200 (configs/validation/kernels_hopper_embedding.yaml).
/// A reuse_factor does not tell which rows of a table are popular: none stay there then.
[[nodiscard]] EmbeddingLoad embedding_load(const EmbeddingBags& work, DataType type, const GpuSpec& gpu);

/// Bags that are looked up at a time, each by as many threads as the widest row has groups of four columns: 4
/// of a warp up to 32 columns, 2 up to 64, else 1. Their warps start as others end (a list schedule), 45 on
/// an SM.
/// *Source*: FBGEMM embedding_forward_split_template.cu, DISPATCH_OPTIMAL_FORWARD_KERNEL (kThreadGroupSize);
/// 45: 64 at 71 % occupancy, Lin et al.
[[nodiscard]] double bags_at_a_time(std::int64_t widest, const GpuSpec& gpu);

/// @param direction of the load's kernel
[[nodiscard]] EmbeddingTimes embedding_times(const EmbeddingLoad& load, Direction direction,
                                             const GpuSpec& gpu);

/// Forward, of what each limit takes alone: they hide each other, but not wholly where two are alike, for
/// rows take longer to come the busier what brings them is: the fourth root of the sum of fourth powers.
/// *Source*: 4 is the best of 3, 4 and 5 for a random half of the H100's lookups
/// (calibration/measurements/h100/embedding.csv); the largest limit alone comes out 5 % too fast there.
[[nodiscard]] Seconds look_up_time(std::initializer_list<Seconds> limits);

}  // namespace lockstep
