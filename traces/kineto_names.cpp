#include "traces/kineto_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <variant>
#include <vector>

namespace lockstep {
namespace {

/// Names of element types: c10::ScalarType's, and NCCL's in kernel names.
struct TypeName {
  std::string_view scalar;
  std::string_view nccl;
};

TypeName type_name(DataType type) {
  switch (type) {
    case DataType::FP32:
    case DataType::TF32:
      return {"Float", "f32"};
    case DataType::FP16:
      return {"Half", "f16"};
    case DataType::BF16:
      return {"BFloat16", "bf16"};
    case DataType::FP8:
      return {"Float8_e4m3fn", "f8e4m3"};
    case DataType::INT32:
      return {"Int", "i32"};
    case DataType::INT64:
      return {"Long", "i64"};
    case DataType::UINT8:
      return {"Byte", "u8"};
    case DataType::BOOL:
      return {"Bool", "u8"};
  }
  return {"Byte", "u8"};
}

/// Names of a collective: torch.distributed's in `args`, NCCL's in kernel names. A barrier is an all-reduce
/// of one element, an all-to-all is sends and receives (ProcessGroupNCCL.cpp).
struct CollectiveName {
  std::string_view torch;
  std::string_view nccl;
  bool reduces = false;
};

CollectiveName collective_name(const CollectiveCall& call) {
  switch (call.kind) {
    case CollectiveKind::AllReduce:
      return {"allreduce", "AllReduce", true};
    case CollectiveKind::ReduceScatter:
      return {"_reduce_scatter_base", "ReduceScatter", true};
    case CollectiveKind::AllGather:
      return {"_allgather_base", "AllGather", false};
    case CollectiveKind::AllToAll:
      return {call.send_bytes.empty() ? "all_to_all" : "all_to_allv", "SendRecv", false};
    case CollectiveKind::Broadcast:
      return {"broadcast", "Broadcast", false};
    case CollectiveKind::Reduce:
      return {"reduce", "Reduce", true};
    case CollectiveKind::Send:
      return {"send", "SendRecv", false};
    case CollectiveKind::Receive:
      return {"recv", "SendRecv", false};
    case CollectiveKind::Barrier:
      return {"barrier", "AllReduce", true};
  }
  return {"unknown", "Unknown", false};
}

std::uint64_t whole(double value) {
  return static_cast<std::uint64_t>(std::llround(value));
}

std::string copy_name(const Memcpy& copy) {
  const std::string_view host = copy.pinned ? "Pinned" : "Pageable";
  switch (copy.path) {
    case Memcpy::Path::HostToDevice:
      return fmt::format("Memcpy HtoD ({} -> Device)", host);
    case Memcpy::Path::DeviceToHost:
      return fmt::format("Memcpy DtoH (Device -> {})", host);
    case Memcpy::Path::DeviceToDevice:
      return "Memcpy DtoD (Device -> Device)";
  }
  return "Memcpy";
}

}  // namespace

bool names_operator(std::string_view range_name) {
  if (range_name.find('#') != std::string_view::npos) {
    return false;
  }
  if (range_name.find("::") != std::string_view::npos || range_name == "record_param_comms") {
    return true;
  }
  const auto is_letter_or_digit = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !range_name.empty() && std::isupper(static_cast<unsigned char>(range_name.front())) != 0 &&
         std::all_of(range_name.begin(), range_name.end(), is_letter_or_digit);
}

RuntimeName runtime_name(Opcode op, const KernelCall* kernel) {
  switch (op) {
    case Opcode::RecordEvent:
      return {"cudaEventRecord", 135};
    case Opcode::StreamWait:
      return {"cudaStreamWaitEvent", 147};
    case Opcode::WaitEvent:
      return {"cudaEventSynchronize", 137};
    case Opcode::WaitStream:
      return {"cudaStreamSynchronize", 131};
    case Opcode::WaitDevice:
      return {"cudaDeviceSynchronize", 165};
    default:
      break;
  }
  if (kernel != nullptr && std::holds_alternative<Memcpy>(kernel->work)) {
    return {"cudaMemcpyAsync", 41};
  }
  if (kernel != nullptr && std::holds_alternative<Memset>(kernel->work)) {
    return {"cudaMemsetAsync", 51};
  }
  return {"cudaLaunchKernel", 211};
}

/// The category of a kernel. A replay's recorded kernels have no work but a name, as profilers write it.
std::string_view category_of(const KernelCall& kernel) {
  if (std::holds_alternative<Memcpy>(kernel.work) || kernel.name.starts_with("Memcpy ")) {
    return "gpu_memcpy";
  }
  const bool sets = std::holds_alternative<Memset>(kernel.work) || kernel.name.starts_with("Memset ");
  return sets ? "gpu_memset" : "kernel";
}

std::string slice_name(const KernelCall& kernel) {
  if (const auto* copy = std::get_if<Memcpy>(&kernel.work)) {
    return copy_name(*copy);
  }
  return std::holds_alternative<Memset>(kernel.work) ? "Memset (Device)" : kernel.name;
}

std::string slice_name(const CollectiveCall& call, NcclNames names) {
  const CollectiveName name = collective_name(call);
  const std::string_view prefix = names == NcclNames::Kernel ? "ncclKernel" : "ncclDevKernel";
  // Copying collectives are compiled once, for bytes; reducing ones per operation and type (nccl
  // generate.py).
  return name.reduces ? fmt::format("{}_{}_Sum_{}", prefix, name.nccl, type_name(call.type).nccl)
                      : fmt::format("{}_{}", prefix, name.nccl);
}

std::string collective_members(const CollectiveCall& call) {
  const double element = size_of(call.type) / Bytes{1};
  std::string members = fmt::format(R"("Collective name":"{}","dtype":"{}",)", collective_name(call).torch,
                                    type_name(call.type).scalar);
  if (!call.send_bytes.empty()) {
    // The profiler shows the first 30 elements of a list (kTruncatLength in torch/csrc/profiler/util.cpp).
    constexpr std::size_t kShown = 30;
    std::vector<std::uint64_t> shown;
    for (std::size_t i = 0; i < std::min(kShown, call.send_bytes.size()); ++i) {
      shown.push_back(whole(call.send_bytes[i] / element));
    }
    members += fmt::format(R"("In split size":"[{}{}]",)", fmt::join(shown, ", "),
                           call.send_bytes.size() > kShown ? ", ..." : "");
  }
  return members;
}

MessageElements message_elements(const CollectiveCall& call, std::size_t group_size) {
  const std::uint64_t elements = whole(call.size / size_of(call.type));
  const std::uint64_t share = group_size == 0 ? 0 : elements / group_size;
  switch (call.kind) {
    case CollectiveKind::AllGather:
      return {share, elements};
    case CollectiveKind::ReduceScatter:
      return {elements, share};
    case CollectiveKind::Barrier:
      return {1, 1};
    default:
      return {elements, elements};
  }
}

}  // namespace lockstep
