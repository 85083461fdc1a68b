#pragma once

#include <string>

#include "base/units.hpp"

namespace lockstep {

/// Dense peaks, without sparsity, at the clock the GPU sustains. Zero: the GPU has no such unit.
struct PeakThroughput {
  FlopsPerSecond fp32;  ///< CUDA cores, a multiply-add counts as two
  FlopsPerSecond tf32;  ///< tensor cores, FP32 accumulation, as all below
  FlopsPerSecond fp16;
  FlopsPerSecond bf16;
  FlopsPerSecond fp8;

  template <class Visitor>
  static void describe(Visitor& key, PeakThroughput& peak) {
    key.required("fp32", peak.fp32, "CUDA cores, e.g. 19.5 TFLOPS");
    key.optional("tf32", peak.tf32, FlopsPerSecond{0}, "tensor cores, dense; 0 when there are none");
    key.optional("fp16", peak.fp16, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
    key.optional("bf16", peak.bf16, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
    key.optional("fp8", peak.fp8, FlopsPerSecond{0}, "tensor cores, dense, FP32 accumulation");
  }
};

/// Which part of a peak real kernels reach: the calibrated part of a GpuSpec, one set per GPU model and never
/// per workload. Defaults are those measured on V100 (configs/gpus/v100_32gb.yaml says from which file).
struct KernelEfficiency {
  std::string source = "V100 values";
  bool calibrated = false;        ///< measured on this GPU model, not taken from a relative
  double gemm_fp32 = 0.93;        ///< of the FP32 peak: inner loop of the best SGEMM tile, SMs full
  double gemm_tensor = 0.80;      ///< of the tensor peak, likewise
  double memory = 0.85;           ///< of the DRAM bandwidth: streaming kernels
  double copy_pieces = 0.79;      ///< of what streaming reaches: concatenation and splitting
  double random_rows = 0.80;      ///< of what streaming reaches: embedding rows at random addresses
  double scattered_update = 0.6;  ///< likewise, read-modify-write of rows (fused embedding backward)
  double attention = 0.55;        ///< of the tensor peak: flash attention forward, long sequences

  template <class Visitor>
  static void describe(Visitor& key, KernelEfficiency& of) {
    const KernelEfficiency v100;
    key.required("source", of.source, "where the fractions come from");
    key.optional("calibrated", of.calibrated, false, "measured on this GPU model, not on a relative");
    key.optional("gemm_fp32", of.gemm_fp32, v100.gemm_fp32, "of the FP32 peak: best SGEMM tile, SMs full");
    key.optional("gemm_tensor", of.gemm_tensor, v100.gemm_tensor, "of the tensor peak, likewise");
    key.optional("memory", of.memory, v100.memory, "of the DRAM bandwidth: streaming kernels");
    key.optional("copy_pieces", of.copy_pieces, v100.copy_pieces, "of streaming: concatenation, splitting");
    key.optional("random_rows", of.random_rows, v100.random_rows, "of streaming: embedding rows read");
    key.optional("scattered_update", of.scattered_update, v100.scattered_update,
                 "of streaming: embedding rows read, changed and written");
    key.optional("attention", of.attention, v100.attention, "of the tensor peak: flash attention, forward");
  }
};

/// What a communication kernel takes from compute kernels that run beside it.
struct CommunicationShare {
  std::string source = "NCCL 2.x: one CTA per channel";
  int sm_count = 16;              ///< SMs its CTAs occupy
  double memory_bandwidth = 0.1;  ///< fraction of the DRAM bandwidth its copies take

  template <class Visitor>
  static void describe(Visitor& key, CommunicationShare& share) {
    const CommunicationShare usual;
    key.required("source", share.source, "where the figures come from");
    key.optional("sm_count", share.sm_count, usual.sm_count, "SMs a communication kernel occupies");
    key.optional("memory_bandwidth", share.memory_bandwidth, usual.memory_bandwidth,
                 "fraction of the DRAM bandwidth a communication kernel takes");
  }
};

/// Copies between host and device memory over PCIe, alone on the link, per direction.
struct HostCopyRates {
  BytesPerSecond pinned{12e9};
  BytesPerSecond pageable{4e9};
  Seconds latency{1.5e-6};  ///< of the smallest copy, as a profiler lists it

  template <class Visitor>
  static void describe(Visitor& key, HostCopyRates& rates) {
    const HostCopyRates gen3;
    key.optional("pinned", rates.pinned, gen3.pinned, "page-locked host memory, e.g. 12 GB/s");
    key.optional("pageable", rates.pageable, gen3.pageable, "pageable host memory, staged by the driver");
    key.optional("latency", rates.latency, gen3.latency, "duration of the smallest copy, e.g. 1.5 us");
  }
};

/// What the simulator knows about one GPU model at one clock setting. Immutable once read; no behaviour.
struct GpuSpec {
  std::string name;
  std::string source;
  std::string clocks;  ///< at which SM and memory clock the figures hold, in words
  int sm_count = 0;
  PeakThroughput peak;
  Bytes memory;
  BytesPerSecond memory_bandwidth;  ///< data sheet, at the memory clock in `clocks`
  Bytes l2_size;
  BytesPerSecond l2_bandwidth;  ///< reads that hit, measured
  Bytes shared_memory_per_sm;
  int copy_engines = 2;           ///< copies in flight at a time beside kernels
  Seconds launch_to_start{5e-6};  ///< from the end of the launch call until an idle stream starts the kernel
  Seconds kernel_gap{1e-6};       ///< between two kernels queued on one stream
  Seconds kernel_minimum{2e-6};   ///< duration of a kernel that does next to nothing
  int launch_queue = 1024;        ///< launches in flight before the launch call blocks
  HostCopyRates host_copy;
  CommunicationShare communication;
  KernelEfficiency efficiency;

  template <class Visitor>
  static void describe(Visitor& key, GpuSpec& gpu) {
    key.required("name", gpu.name, "identifier used by cluster files");
    key.required("source", gpu.source, "where the figures come from");
    key.optional("clocks", gpu.clocks, std::string{}, "clock setting the figures hold for");
    key.required("sm_count", gpu.sm_count, "streaming multiprocessors");
    key.required("peak", gpu.peak, "dense peaks by data type");
    key.required("memory", gpu.memory, "device memory, e.g. 80 GB");
    key.required("memory_bandwidth", gpu.memory_bandwidth, "data-sheet DRAM bandwidth, e.g. 2039 GB/s");
    key.required("l2", gpu.l2_size, "level-2 cache, e.g. 40 MiB");
    key.required("l2_bandwidth", gpu.l2_bandwidth, "of reads that hit in the level-2 cache");
    key.required("shared_memory", gpu.shared_memory_per_sm, "shared memory of one SM, e.g. 164 KiB");
    key.optional("copy_engines", gpu.copy_engines, 2, "copies in flight at a time beside kernels");
    key.optional("launch_to_start", gpu.launch_to_start, Seconds{5e-6},
                 "from the launch call's end until an idle stream starts the kernel");
    key.optional("kernel_gap", gpu.kernel_gap, Seconds{1e-6}, "between two kernels queued on one stream");
    key.optional("kernel_minimum", gpu.kernel_minimum, Seconds{2e-6}, "duration of an almost empty kernel");
    key.optional("launch_queue", gpu.launch_queue, 1024, "launches in flight before the launch call blocks");
    key.optional("host_copy", gpu.host_copy, HostCopyRates{}, "copies between host and device");
    key.optional("communication", gpu.communication, CommunicationShare{},
                 "what a communication kernel takes from compute kernels");
    key.optional("efficiency", gpu.efficiency, KernelEfficiency{}, "fractions of the peaks kernels reach");
  }
};

}  // namespace lockstep
