#pragma once

/// @file
/// A kernel call: what a GPU is asked to do, without saying how long it takes.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

enum class DataType : std::uint8_t { FP32, TF32, FP16, BF16, FP8, INT32, INT64, UINT8, BOOL };

/// Bytes of one element in memory. TF32 is stored as FP32.
[[nodiscard]] Bytes size_of(DataType type);

enum class Direction : std::uint8_t { Forward, Backward };

/// C[m,n] = A[m,k] B[k,n], batch times.
struct Gemm {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  int added_to = 0;  ///< bytes of an element of what the result is added to in place (beta = 1); 0: it is new
  /// Products of its kind at a time, on as many streams, itself among them: they fill the waves of each
  /// other, and it takes its part of their time.
  int concurrent = 1;
  bool grouped =
      false;  ///< all of @p batch in one kernel of CUTLASS (torch._grouped_mm), by tiles of one shape
  bool split_accumulator = false;  ///< FP8: partial sums are added up in FP32's registers, every 128 of k
  bool operator==(const Gemm&) const = default;
};

/// Element-wise arithmetic over @p elements outputs.
struct Pointwise {
  std::int64_t elements = 0;
  double reads = 1;   ///< tensors of `elements` elements of the call's type read (fractions for broadcasts)
  double writes = 1;  ///< likewise written
  double flops = 1;   ///< arithmetic per element
  double instructions = 0;  ///< of a thread per element, all of them; 0: too few to matter
  bool in_step = false;     ///< threads of a block wait for each other behind each element of theirs
  /// Distance of reads in one sector: each element of one operand lies in a memory sector of its own, whose
  /// other elements are read so many elements later; 0: all operands lie side by side.
  std::int64_t sector_window = 0;
  std::int64_t chain = 0;  ///< loads of a thread of which each is waited for before the next; 0: none
  bool operator==(const Pointwise&) const = default;
};

/// Sum (or the like) over @p columns for each of @p rows; `across_rows` sums the rows of a rows x columns
/// matrix instead (bias gradients).
struct Reduction {
  std::int64_t rows = 1, columns = 0;
  bool across_rows = false;
  bool operator==(const Reduction&) const = default;
};

/// Pieces put together (or taken apart) by copying.
struct Concat {
  std::int64_t elements = 0;
  std::int64_t pieces = 1;
  bool strided = false;  ///< pieces are not contiguous: the offset of each element is computed
  bool operator==(const Concat&) const = default;
};

/// [batch, rows, columns] -> [batch, columns, rows].
struct Transpose {
  std::int64_t batch = 1, rows = 0, columns = 0;
  bool operator==(const Transpose&) const = default;
};

/// Gathers (forward) or scatters (backward) the lower triangle of [batch, n, n] matrices (DLRM interaction).
struct TriangularIndex {
  std::int64_t batch = 1, n = 0;
  bool diagonal = false;
  Direction direction = Direction::Forward;
  bool operator==(const TriangularIndex&) const = default;
};

/// Reads and writes of a kernel over rows when other operators are fused into it (torch.compile), in
/// matrices of the call's type. None: the operator alone.
struct FusedPasses {
  double reads = 0, writes = 0;
  double again = 0;  ///< what its further passes read, where registers do not hold the row
  [[nodiscard]] bool any() const { return reads > 0; }
  bool operator==(const FusedPasses&) const = default;
};

/// Elements of a row that a warp of PyTorch's softmax holds in registers (softmax_warp_forward); longer rows
/// have a block each.
inline constexpr std::int64_t kRowOfAWarp = 1024;

struct Softmax {
  std::int64_t rows = 0, columns = 0;
  Direction direction = Direction::Forward;
  bool logarithm = false;
  FusedPasses fused{};
  std::int64_t row_of_a_warp = kRowOfAWarp;  ///< elements that a warp holds, where it is not PyTorch's
  /// Rows that a warp holds, of square matrices: above the diagonal it reads and computes nothing and writes
  /// zeros.
  bool causal = false;
  /// The argument is FP16, the result FP32 (at::_softmax with half_to_float); likewise its gradient.
  bool half_to_float = false;
  bool operator==(const Softmax&) const = default;
};

/// PyTorch launches three kernels over a pass: forward; gradient of the input; gradients of gain and bias.
struct LayerNorm {
  enum class Part : std::uint8_t { Forward, InputGradient, ParameterGradient };
  std::int64_t rows = 0, columns = 0;
  Part part = Part::Forward;
  FusedPasses fused{};
  double instructions = 0;  ///< of a thread per element; 0: those of PyTorch's own kernels
  bool rms = false;         ///< of PyTorch's own: RMS norm, which has no mean
  bool operator==(const LayerNorm&) const = default;
};

/// Training-mode batch norm of [batch, channels, pixels]: statistics by channel, then scaled (cuDNN).
struct BatchNorm {
  std::int64_t batch = 1, channels = 0, pixels = 1;
  Direction direction = Direction::Forward;
  bool own = false;            ///< PyTorch's own kernel: forward the statistics alone
  bool channels_last = false;  ///< in memory: pixels of all images are rows of one matrix
  bool operator==(const BatchNorm&) const = default;
};

/// [batch, in_channels, height, width] with filters [out_channels, in_channels, filter_height, filter_width].
struct Convolution {
  enum class Pass : std::uint8_t { Forward, DataGradient, WeightGradient };
  std::int64_t batch = 1, in_channels = 0, out_channels = 0;
  std::int64_t height = 0, width = 0;  ///< of the input
  std::int64_t filter_height = 1, filter_width = 1, stride = 1;
  std::int64_t padding_height = 0, padding_width = 0;
  Pass pass = Pass::Forward;
  /// Tensors in NCHW, which kernels on tensor cores do not read; else channels last, which those on CUDA
  /// cores do not: copied around them.
  bool channels_first = false;
  bool tuned = false;  ///< the library timed its algorithms (torch.backends.cudnn.benchmark); else it guessed
  [[nodiscard]] std::int64_t out_height() const {
    return (height + 2 * padding_height - filter_height) / stride + 1;
  }
  [[nodiscard]] std::int64_t out_width() const {
    return (width + 2 * padding_width - filter_width) / stride + 1;
  }
  bool operator==(const Convolution&) const = default;
};

/// The implementation of fused attention.
enum class FlashVersion : std::uint8_t {
  One,      ///< FlashAttention 1 as written in Triton (Dao-AILab/flash-attention flash_attn_triton.py)
  OneCuda,  ///< FlashAttention 1 as written in CUDA (csrc/flash_attn there, up to 1.0.9)
  Two,      ///< FlashAttention-2
  Three,    ///< FlashAttention-3, for Hopper
  CuDnn,    ///< cuDNN's scaled dot-product attention, as Transformer Engine calls it
  MemoryEfficient,  ///< xFormers' in CUTLASS, PyTorch's choice for FP32 (aten::_efficient_attention_forward)
};

struct FlashAttention {
  std::int64_t batch = 1, heads = 1, queries = 0, keys = 0, head_size = 0;
  bool causal = true;
  bool dropout = false;  ///< of the scores: a random number for each
  Direction direction = Direction::Forward;
  FlashVersion version = FlashVersion::Two;
  /// Backward: the kernels of row sums before and of conversion behind are launched, and timed, apart.
  bool main_alone = false;
  bool operator==(const FlashAttention&) const = default;
};

/// Places where the rows of a table can be (FBGEMM's EmbeddingLocation).
enum class TableLocation : std::uint8_t {
  Gpu,
  Host,        ///< read and written over PCIe by the kernels themselves
  HostCached,  ///< in host memory, with a cache of rows on the GPU
};

/// One embedding table as a lookup sees it.
struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t dimension = 0;
  double pooling_factor = 1;  ///< mean lookups per bag
  /// Lookups per distinct row in one batch (>= 1); 0: follows from the popularity below.
  double reuse_factor = 0;
  TableLocation location = TableLocation::Gpu;
  double cache_load_factor = 0;  ///< HostCached: rows of the cache by rows of the table, 0 to 1
  /// Popularity of the rows where reuse_factor is 0 (ops/kernels/index_model.hpp).
  double index_skew = 0;         ///< standard deviation of log2 of the popularities; 0: all alike
  double active_rows = 1;        ///< share of the rows that are looked up at all, above 0 to 1
  double index_duplication = 1;  ///< times that each index drawn repeats within its sample, >= 1
  double zipf = 0;  ///< exponent of Zipf's law, by which rows are drawn instead of by index_skew; 0: are not
  bool operator==(const EmbeddingTable&) const = default;
};

/// RowWiseAdagrad: of embedding tables, one sum for each row (FBGEMM).
/// BertAdam: of pytorch-pretrained-BERT, Adam written as element-wise operators.
enum class Optimizer : std::uint8_t { Sgd, Adagrad, RowWiseAdagrad, AdamW, AdamWHf, Lamb, BertAdam };

/// A table-batched embedding call: `batch` bags of every table; backward applies the optimizer in place
/// (fused).
struct EmbeddingBags {
  std::int64_t batch = 0;
  std::vector<EmbeddingTable> tables;
  Direction direction = Direction::Forward;
  Optimizer optimizer = Optimizer::Sgd;
  std::optional<DataType> pooled{};  ///< of the pooled rows that forward writes; left out: that of the tables
  bool repeated = false;  ///< the same lookups ran just before: what the level-2 cache holds of them is there
  bool atomic =
      false;  ///< backward: each lookup adds its gradient to its row, as kernels before FBGEMM's did
  bool operator==(const EmbeddingBags&) const = default;
};

/// Fetches the rows that a batch is about to look up into the caches of its HostCached tables; the rows that
/// they displace are written back.
struct EmbeddingCacheInsert {
  std::int64_t batch = 0;
  std::vector<EmbeddingTable> tables;
  bool operator==(const EmbeddingCacheInsert&) const = default;
};

/// Rows of a dense table picked by index (forward), or gradients added into it (backward): nn.Embedding.
struct IndexSelect {
  std::int64_t table_rows = 0, picks = 0, columns = 0;
  Direction direction = Direction::Forward;
  bool block_per_row =
      false;  ///< forward: a block of threads copies a row (PyTorch's vectorized_gather_kernel)
  bool operator==(const IndexSelect&) const = default;
};

/// One (multi-tensor or per-tensor) optimizer kernel over @p parameters elements of @p tensors tensors.
/// Which passes over memory: `reads` and `writes` in tensors of `parameters` elements.
struct OptimizerUpdate {
  Optimizer optimizer = Optimizer::Sgd;
  std::int64_t parameters = 0, tensors = 1;
  double reads = 2, writes = 1, flops = 2;
  bool operator==(const OptimizerUpdate&) const = default;
};

/// A copy within the GPU, or between it and host memory.
struct Memcpy {
  enum class Path : std::uint8_t { HostToDevice, DeviceToHost, DeviceToDevice };
  Bytes size;
  Path path = Path::DeviceToDevice;
  bool pinned = true;  ///< host side page-locked
  bool operator==(const Memcpy&) const = default;
};

struct Memset {
  Bytes size;
  bool operator==(const Memset&) const = default;
};

/// Work whose duration is given: replayed traces and synthetic programs.
struct Timed {
  Seconds duration;
  bool operator==(const Timed&) const = default;
};

using KernelWork = std::variant<Gemm, Pointwise, Reduction, Concat, Transpose, TriangularIndex, Softmax,
                                LayerNorm, FlashAttention, EmbeddingBags, EmbeddingCacheInsert, IndexSelect,
                                OptimizerUpdate, Memcpy, Memset, Timed, BatchNorm, Convolution>;

/// A kernel as a profiler would list it. Keep names few (they colour the timeline); sizes belong in the work.
struct KernelCall {
  std::string name;
  DataType type = DataType::FP32;
  KernelWork work;
  bool operator==(const KernelCall&) const = default;
};

}  // namespace lockstep
