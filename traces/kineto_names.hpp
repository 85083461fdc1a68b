#pragma once

/// @file
/// How PyTorch's profiler (Kineto) names what we simulate. Source: pytorch/kineto
/// libkineto/src/{output_json,ActivityType}.cpp and the traces it wrote (../shared/data/traces).

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/collectives/collective.hpp"
#include "ops/kernel.hpp"
#include "ops/program.hpp"

namespace lockstep {

/// The prefix of communication kernels' names.
enum class NcclNames : std::uint8_t {
  DevKernel,  ///< `ncclDevKernel_AllReduce_Sum_f32`: NCCL >= 2.19
  Kernel,     ///< `ncclKernel_AllReduce_Sum_f32`: NCCL < 2.19, and what HTA's straggler analysis looks for
};

/// A host range is a `cpu_op` when its name is that of an operator (`aten::mm`) or of an autograd node or
/// function, a class (`AddmmBackward0`, `LookupFunction`); else a `user_annotation` (`## forward ##`,
/// `Optimizer.step#SGD.step`, `nccl:all_reduce`, `DistributedDataParallel.forward`).
[[nodiscard]] bool names_operator(std::string_view range_name);

/// The profiler's view of a CUDA runtime call. `cbid` is CUPTI's number of it (cupti_runtime_cbid.h, as in
/// the traces).
struct RuntimeName {
  std::string_view name;
  int cbid = 0;
};

/// @param kernel what the call puts on a stream; nullptr for anything but Opcode::Launch
[[nodiscard]] RuntimeName runtime_name(Opcode op, const KernelCall* kernel);

/// `kernel`, `gpu_memcpy` or `gpu_memset`.
[[nodiscard]] std::string_view category_of(const KernelCall& kernel);

/// Copies and memsets are named by direction (`Memcpy HtoD (Pinned -> Device)`), kernels by themselves.
[[nodiscard]] std::string slice_name(const KernelCall& kernel);
[[nodiscard]] std::string slice_name(const CollectiveCall& call, NcclNames names);

/// "Collective name", "dtype" and split sizes as members of `args`, each followed by a comma. Element counts
/// follow from the group (message_elements).
[[nodiscard]] std::string collective_members(const CollectiveCall& call);

/// "In msg nelems" and "Out msg nelems": elements of the tensors that a rank passes to the collective.
struct MessageElements {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};
[[nodiscard]] MessageElements message_elements(const CollectiveCall& call, std::size_t group_size);

}  // namespace lockstep
