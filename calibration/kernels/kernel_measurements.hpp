#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// The measured duration of one kernel call.
struct KernelMeasurement {
  std::string gpu;  ///< a name of configs/gpus, or a file
  KernelCall call;
  Seconds time;
};

/// Rows of one or several files of measured kernels.
using KernelMeasurements = std::vector<KernelMeasurement>;

/// The call of a row, in the words of the `shape` column:
///
///   gemm                          batch=1 m=4096 n=1024 k=1024 layout=nt       (C[m,n] = A B)
///   softmax, layer_norm           rows=8192 columns=1024                       (forward)
///   pointwise                     elements=1048576 reads=2 writes=1 flops=1 (and instructions=22)
///   embedding_forward, -backward  batch=2048 tables=1000000x128x32x1.2,...     (rows, dimension, pooling
///   factor,
///                                 lookups by different rows; 0: uniform indices)
///                                 and optimizer=sgd, adagrad, rowwise_adagrad or adamw; or so many alike:
///                                 tables=32 rows=1000000 dimension=128 pooling=32 reuse=1.2
///                                 (with reuse=0 by skew=2 or zipf=1.05: IndexModel); repeated=1, atomic=1:
///                                 EmbeddingBags
///   convolution                   batch=32 in=64 out=128 size=56 filter=3 stride=1 padding=1
///                                 (square images and filters) pass=forward, or input_gradient,
///                                 weight_gradient; channels_first=1: tensors in NCHW; tuned=1:
///                                 cuDNN timed its algorithms
///   attention_forward, -backward  batch=2 heads=16 queries=8192 keys=8192 head_size=128 causal=1
///                                 version=cudnn (or flash, flash_1, flash_1_cuda, flash_3, memory_efficient)
///
/// @throws std::logic_error for other work
[[nodiscard]] std::string shape_text(const KernelWork& work);

/// The family and the type of a call, as those columns say them.
/// @throws std::bad_variant_access for work without a family, std::invalid_argument for a type without a word
[[nodiscard]] std::string_view family_text(const KernelWork& work);
[[nodiscard]] std::string_view type_text(DataType type);

/// In [0, 1), the same for all rows of a shape, whatever else is measured: for splits. m does not count in
/// single products, so that all rows with one weight matrix stay together.
[[nodiscard]] double place_of_shape(const KernelWork& work);

/// The same with m.
[[nodiscard]] double place_with_m(const KernelWork& work);

/// The names of the families above.
[[nodiscard]] std::vector<std::string> kernel_families();

/// fp32, tf32, fp16, bf16 or fp8. @throws std::invalid_argument for another
[[nodiscard]] DataType type_named(const std::string& name);

/// The call of a family and type (fp32, tf32, fp16, bf16, fp8) that the words of a shape describe.
/// @throws std::invalid_argument for a family, type or word that is none
[[nodiscard]] KernelCall kernel_call(const std::string& family, const std::string& type,
                                     const std::map<std::string, std::string>& shape);

/// Under the header `gpu,family,type,shape,time_us`, a row a measurement; before it a line `# from: SOURCE`
/// for each of @p sources: file, machine, versions, date.
[[nodiscard]] std::string kernel_csv(const KernelMeasurements& measurements,
                                     const std::vector<std::string>& sources = {});

/// The origin of such files in words: their names, and the sources that they list.
[[nodiscard]] std::string cited_tables(const std::vector<std::filesystem::path>& files);

/// Whether the file is a table that kernel_csv() writes. @throws InputError when it cannot be read
[[nodiscard]] bool is_kernel_csv(const std::filesystem::path& file);

/// The rows of such files.
/// @throws InputError at file and line for a family, type or shape that is none, a time that is not above 0
[[nodiscard]] KernelMeasurements read_kernel_csv(const std::vector<std::filesystem::path>& files);

}  // namespace lockstep
