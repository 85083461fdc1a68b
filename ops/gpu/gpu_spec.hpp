#pragma once

#include <optional>
#include <string>

#include "base/named.hpp"
#include "base/provenance.hpp"
#include "base/units.hpp"
#include "ops/gpu/kernel_efficiency.hpp"
#include "ops/gpu/learned_kernels.hpp"
#include "ops/gpu/peak_throughput.hpp"
#include "topology/kinds.hpp"

namespace lockstep {

/// Resources that a communication kernel takes from compute kernels that run beside it on the GPU.
struct CommunicationShare {
  int sm_count = 0;             ///< SMs its thread blocks occupy: one per NCCL channel
  double memory_bandwidth = 0;  ///< fraction of the DRAM bandwidth its copies take

  template <class Visitor>
  static void describe(Visitor& key, CommunicationShare& share) {
    key.required("sm_count", share.sm_count, "SMs a communication kernel occupies");
    key.required("memory_bandwidth", share.memory_bandwidth, "fraction of the DRAM bandwidth it takes");
  }
};

/// Copies between host and device memory, alone on the link, per direction.
struct HostCopyRates {
  BytesPerSecond pinned;
  BytesPerSecond pageable;
  Seconds latency;  ///< of the smallest copy, as a profiler lists it

  template <class Visitor>
  static void describe(Visitor& key, HostCopyRates& rates) {
    key.required("pinned", rates.pinned, "from or to page-locked host memory, e.g. 12 GB/s");
    key.required("pageable", rates.pageable, "from or to pageable host memory, staged by the driver");
    key.required("latency", rates.latency, "duration of the smallest copy, e.g. 1.5 us");
  }
};

/// Facts about one GPU model at one clock setting. Immutable once read; no behaviour.
struct GpuSpec {
  static constexpr const char* kConfigKind = "gpus";

  std::string name;
  std::string source;
  std::string clocks;  ///< at which SM and memory clock the figures hold, in words
  int sm_count = 0;
  int cores_per_sm = 64;
  int threads_per_sm = 2048;  ///< resident at most
  PeakThroughput peak;
  Bytes memory;                        ///< on the board
  std::optional<Bytes> usable_memory;  ///< what CUDA reports of it; see usable()
  BytesPerSecond memory_bandwidth;     ///< data sheet, at the memory clock in `clocks`
  Bytes l1_size;  ///< level-1 cache of an SM for global loads; 0: they are not cached there
  Bytes l2_size;
  int l2_partitions = 1;        ///< parts that each keep a copy of what their own SMs read
  BytesPerSecond l2_bandwidth;  ///< of reads that hit
  Bytes shared_memory_per_sm;
  int copy_engines = 2;       ///< copies in flight at a time beside kernels
  Seconds launch_to_start{};  ///< from the end of the launch call until an idle stream starts the kernel
  Seconds kernel_gap{};       ///< between two kernels queued on one stream
  Seconds kernel_minimum{};   ///< duration of a kernel that does next to nothing
  int launch_queue = 1024;    ///< launches in flight before the launch call blocks
  HostCopyRates host_copy;
  CommunicationShare communication;
  bool pcie_peer_access = true;            ///< the driver maps its memory for other GPUs over PCIe
  NicAccess nic_access = NicAccess::Full;  ///< what NCCL lets NICs do with its memory (GPUDirect RDMA)
  Named<KernelEfficiency> efficiency;
  std::optional<Named<LearnedKernels>> learned;  ///< networks that answer where they were trained
  std::string host;  ///< of configs/hosts, where a scenario names none; empty: such a scenario is an error
  /// Why kernels are taken as another GPU's though `efficiency` is said to be of this one; empty: they are
  /// not.
  std::string lent_because;
  /// Why `learned` is left out though the file names it, whosever the efficiencies are; empty: it is not.
  std::string silent_because;
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, GpuSpec& gpu) {
    key.required("name", gpu.name, "identifier used by cluster files");
    key.required("source", gpu.source, "where the figures come from");
    key.required("clocks", gpu.clocks, "clock setting the figures hold for");
    key.required("sm_count", gpu.sm_count, "streaming multiprocessors");
    key.optional("cores_per_sm", gpu.cores_per_sm, 64, "FP32 lanes (CUDA cores) of an SM, e.g. 128");
    key.optional("threads_per_sm", gpu.threads_per_sm, 2048,
                 "threads that can be resident on an SM, e.g. 1024 on Turing, 1536 on Ada");
    key.required("peak", gpu.peak, "dense peaks by data type");
    key.required("memory", gpu.memory, "device memory on the board, e.g. 80 GiB");
    key.optional("usable_memory", gpu.usable_memory, std::nullopt,
                 "what CUDA reports of it (cudaMemGetInfo; 'total capacity' in PyTorch's out-of-memory "
                 "messages), e.g. 79.1 GiB, against which jobs are judged; left out: 98 % of 'memory'");
    key.required("memory_bandwidth", gpu.memory_bandwidth, "data-sheet DRAM bandwidth, e.g. 2039 GB/s");
    key.optional("l1", gpu.l1_size, Bytes{0},
                 "level-1 cache of one SM for global loads, e.g. 192 KiB; 0 when they are not cached there");
    key.required("l2", gpu.l2_size, "level-2 cache, e.g. 40 MiB");
    key.optional("l2_partitions", gpu.l2_partitions, 1,
                 "parts of the level-2 cache that each keep a copy of what their own SMs read");
    key.required("l2_bandwidth", gpu.l2_bandwidth, "of reads that hit in the level-2 cache");
    key.required("shared_memory", gpu.shared_memory_per_sm, "shared memory of one SM, e.g. 164 KiB");
    key.optional("copy_engines", gpu.copy_engines, 2, "copies in flight at a time beside kernels");
    key.required("launch_to_start", gpu.launch_to_start,
                 "from the launch call's end until an idle stream starts the kernel, e.g. 2 us");
    key.required("kernel_gap", gpu.kernel_gap, "between two kernels queued on one stream, e.g. 1 us");
    key.required("kernel_minimum", gpu.kernel_minimum, "duration of an almost empty kernel, e.g. 2 us");
    key.optional("launch_queue", gpu.launch_queue, 1024, "launches in flight before the launch call blocks");
    key.required("host_copy", gpu.host_copy, "copies between host and device");
    key.required("communication", gpu.communication,
                 "what a communication kernel takes from compute kernels beside it");
    key.optional("pcie_peer_access", gpu.pcie_peer_access, true,
                 "the driver lets other GPUs reach its memory over PCIe; if not (GeForce RTX 30 and 40), "
                 "collectives go through host memory, but for NVLink");
    key.optional("nic_access", gpu.nic_access, NicAccess::Full,
                 "what NCCL lets NICs do with its memory (GPUDirect RDMA): full; reads_with_nvlink: before "
                 "Ampere, no reads without NVLink in the node; none: GeForce and TITAN");
    key.required("efficiency", gpu.efficiency, "fractions of the peaks kernels reach, a name or in place");
    key.optional("learned", gpu.learned, std::nullopt,
                 "networks that answer instead of formulas where they were trained; ~ for none");
    key.optional(
        "host", gpu.host, {},
        "host that stands in where a scenario names none: that of machines with this GPU, or of its time");
    key.optional(
        "provenance", gpu.provenance, {},
        "where each of these numbers comes from, by its key; of efficiency: whether that set was made "
        "for this GPU");
  }
  /// Memory that a job can have: `usable_memory`, or where that is not known the share of `memory` that the
  /// driver leaves on most boards (*Source*: configs/gpus, 98.4 to 99.2 % but for ECC in GDDR).
  [[nodiscard]] Bytes usable() const { return usable_memory.value_or(kUsableShare * memory); }
  static constexpr double kUsableShare = 0.98;

  /// A `usable_memory` of a GPU whose `memory` is set anew without it is dropped: it was another's.
  /// Fractions that are said to be of another GPU are not calibrated on this one. Nor are those of this one
  /// where its numbers are guessed. Networks were trained on the GPU as it was: where its numbers are
  /// guessed, or others than the networks were fitted with (learned_scale.hpp), they are left out.
  /// @throws FieldError naming the key of a size, rate or count that is not above zero, and for more usable
  ///   memory than there is
  void check();
};

}  // namespace lockstep
