#pragma once

#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Bytes that a kernel or copy moves between its GPU and the memory of its host.
struct HostTraffic {
  Bytes to_device, to_host;

  [[nodiscard]] Bytes total() const { return to_device + to_host; }
  HostTraffic& operator+=(const HostTraffic& other) {
    to_device += other.to_device;
    to_host += other.to_host;
    return *this;
  }
};

/// Copies move their size one way. With N lookups of rows of r bytes (batch_rows()):
///
///   lookup       to the device: r for each lookup of a row in host memory
///   its backward  r each way for each different row in host memory
///   cache insert  r each way for each row: those that are displaced go back
///
/// *Assumes* that rows of host memory are not kept in the GPU's level-2 cache, and that a displaced row has
/// always been changed.
/// *Source*: CUDA C++ Best Practices Guide, "Zero Copy" (mapped host memory is not cached on the GPU); FBGEMM
/// lru_cache_insert_kernel (writes back whatever it displaces); backward sorts, so that each row comes once.
[[nodiscard]] HostTraffic host_traffic(const KernelCall& call);

/// Most bytes that CUDA copies to the device from pageable memory in one piece. It puts them in the GPU's
/// queue of commands: the host goes on, and the copy starts when its stream comes to it.
///
/// *Source*: CUDA C++ Programming Guide, "Concurrent Execution between Host and Device" (64 KB or less).
inline constexpr Bytes kCopyInCommands{64.0 * 1024};

/// Whether @p call waits for a copy engine that another stream's copy holds. Not kernels, which move their
/// rows themselves, nor copies of up to kCopyInCommands from pageable memory; pinned ones of any size do.
///
/// *Source*: forums.developer.nvidia.com/t/35190 and devtalk.nvidia.com topic 1045814 (small copies come with
/// the commands, and two run at once on a GPU with one engine a direction); cudf issue 15620 (a pinned copy
/// of 51 KB starts 12 ms late, behind one of 200 MB in another stream).
[[nodiscard]] bool needs_copy_engine(const KernelCall& call);

/// Time of @p traffic alone: both directions at once, each at the rate of copies from pinned memory.
///
/// *Valid for* rows of 128 bytes or more, the size of a warp's request; shorter ones reach less.
[[nodiscard]] Seconds time_over_pcie(const HostTraffic& traffic, const GpuSpec& gpu);

/// False when a table of @p tables has rows in host memory that time_over_pcie() is not valid for.
[[nodiscard]] bool fills_requests(const std::vector<EmbeddingTable>& tables, double element);

}  // namespace lockstep
