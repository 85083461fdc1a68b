#pragma once

/// @file
/// The limits that all kernel models share: moving bytes, doing arithmetic, issuing instructions.

#include "base/units.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Bytes that a kernel moves between its SMs and memory.
struct Traffic {
  Bytes moved;          ///< read plus written
  Bytes written;        ///< the written part of it
  Bytes footprint;      ///< distinct bytes among them
  double fraction = 1;  ///< of the streaming bandwidth that this access pattern reaches
};

/// @p reads and @p writes bytes, each touched once.
[[nodiscard]] Traffic streamed(Bytes reads, Bytes writes, double fraction = 1);

/// Time to move @p traffic, without the kernel's fixed part:
///
///   resident = clamp(1.5 - footprint / L2, 0, 1)
///   stored   = written / (DRAM bandwidth * memory * writes * fraction)
///   dram     = max(moved / (DRAM bandwidth * memory * fraction), stored)
///   cache    = max(moved / (L2 bandwidth * fraction), stored)
///   t        = (1 - resident) * dram + resident * min(cache, dram)
///
/// *Assumes* that what the previous kernel left behind is in the level-2 cache when all of it fits into half
/// of it, and none when it is 1.5 times as large (write-back, least recently used). Stores run at the rate of
/// DRAM however small the tensor is: kernels that only write 1 to 103 MB reach 700 to 760 GB/s on a V100, 3
/// to 181 MB 1.4 to 1.6 TB/s on an A100, no more where all of it would fit into the cache.
/// *Valid for* any size; small ones are dominated by the kernel minimum.
/// *Source*: own formula. 1.5 from ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz (relu and its
/// backward of 1 to 25 MB), stores from fills in ../shared/data/traces/resnet50_v100_loader_in_process and
/// single_rank, `memory` and `writes` from the files named in configs/kernel_efficiency/.
[[nodiscard]] Seconds time_to_move(const Traffic& traffic, const GpuSpec& gpu);

/// `resident` of that for so many distinct bytes.
[[nodiscard]] double resident_share(Bytes footprint, const GpuSpec& gpu);

/// The smallest kernel that only writes: kernel_minimum less 0.45 us, in which the others wait for what they
/// read. *Source*: fills of 16,384 elements take 0.96 and 0.99 us on an H100 where copies and additions
/// take 1.41 (calibration/measurements/h100/pytorch_pointwise.csv), cudaMemset 0.7 (pytorch_reduction.csv);
/// 0.77 on an H200. An A100's and a 2080 Ti's memsets are 0.35 and 1 us shorter than its shortest
/// element-wise kernels, and a V100's fills shorter than the 1 us that these are rounded down to
/// (../shared/data/traces/{single_rank/a100_rank0of2_nccl_arguments,linear_and_resnet_2080ti,
/// resnet50_v100_loader_in_process}).
[[nodiscard]] Seconds smallest_fill(const GpuSpec& gpu);

/// Time to issue @p instructions of threads, all SMs together:
///
///   t = instructions / (sm_count * 128 * clock * 0.65), clock = peak FP32 / (sm_count * cores_per_sm * 2)
///
/// An SM has four schedulers that issue an instruction for 32 threads each clock. Kernels of dependent
/// integer instructions reach 0.65 of that.
///
/// *Assumes* enough threads to hide latencies (2,048 resident on an SM; with 1,024, as on Turing, a quarter
/// slower). *Valid for* Volta and later (GP100 has two schedulers, and Pascal multiplies integers in three
/// instructions). *Source*: NVIDIA's Volta, Ampere and Hopper whitepapers; 0.65 fitted to PyTorch's
/// max_pool_backward_nchw on a V100 (0.64) and a H100 (0.65),
/// ../shared/data/traces/{resnet50_v100_loader_in_process,vgg13_h100}.
[[nodiscard]] Seconds time_to_issue(double instructions, const GpuSpec& gpu);

/// The dense peak @p gpu offers for @p type. TF32 on a GPU without it is computed in FP32, as cuBLAS does.
/// @throws std::invalid_argument when the GPU has no unit for the type
[[nodiscard]] FlopsPerSecond peak_of(const GpuSpec& gpu, DataType type);

/// True when products of @p type are computed on tensor cores of @p gpu.
[[nodiscard]] bool uses_tensor_cores(const GpuSpec& gpu, DataType type);

}  // namespace lockstep
