#include "ops/workload/layers/kernels.hpp"

#include <fmt/format.h>

namespace lockstep::kernels {
namespace {

constexpr double kByIndex = 119;              // see index_select()
constexpr double kAtomicOf16Bits = 187;       // see index_add()
constexpr double kAtomicOf32Bits = 170;       // likewise
constexpr double kBroadcastOfTwoTypes = 104;  // see broadcast_of_two_types()
constexpr double kOffsetArithmetic = 100;     // of an element's offset in one operand, see unrolled_copy()

std::string_view name_of_product(DataType type) {
  switch (type) {
    case DataType::TF32:
      return "tf32_gemm";
    case DataType::FP16:
      return "hgemm";
    case DataType::BF16:
      return "bf16_gemm";
    case DataType::FP8:
      return "fp8_gemm";
    default:
      return "sgemm";
  }
}

}  // namespace

KernelCall elementwise(std::string_view what, std::int64_t elements, DataType type, Passes passes) {
  return {fmt::format("vectorized_elementwise_kernel<{}>", what), type,
          Pointwise{.elements = elements,
                    .reads = passes.reads,
                    .writes = passes.writes,
                    .flops = passes.flops,
                    .instructions = passes.instructions}};
}

KernelCall by_offsets(std::string_view what, std::int64_t elements, DataType type, Passes passes) {
  passes.instructions = kUnvectorised;
  KernelCall call = elementwise(what, elements, type, passes);
  call.name = fmt::format("elementwise_kernel<{}>", what);
  return call;
}

KernelCall of_two_types(std::string_view what, std::int64_t elements, DataType type, Passes passes) {
  KernelCall call = by_offsets(what, elements, type, passes);
  call.name = fmt::format("unrolled_elementwise_kernel<{}>", what);
  std::get<Pointwise>(call.work).in_step = true;
  return call;
}

KernelCall broadcast_of_two_types(std::string_view what, std::int64_t elements, DataType from, DataType to) {
  KernelCall call = by_offsets(what, elements, to, {.reads = size_of(from) / size_of(to)});
  auto& work = std::get<Pointwise>(call.work);
  work.instructions = kBroadcastOfTwoTypes;
  work.in_step = true;
  return call;
}

KernelCall fill(std::int64_t elements, DataType type) {
  return elementwise("fill", elements, type, {.reads = 0, .writes = 1, .flops = 0});
}

KernelCall add(std::int64_t elements, DataType type) {
  return elementwise("add", elements, type, {.reads = 2});
}

KernelCall mul(std::int64_t elements, DataType type) {
  return elementwise("mul", elements, type, {.reads = 2});
}

KernelCall scale(std::int64_t elements, DataType type) {
  return elementwise("scale", elements, type, {});
}

KernelCall silu(std::int64_t elements, DataType type) {
  return elementwise("silu", elements, type, {.flops = 10, .instructions = 22});
}

KernelCall silu_backward(std::int64_t elements, DataType type) {
  return elementwise("silu_backward", elements, type, {.reads = 2, .flops = 15, .instructions = 31});
}

KernelCall index_select(std::int64_t elements, std::int64_t indices, DataType type) {
  const double index = static_cast<double>(indices) / static_cast<double>(elements) *
                       (size_of(DataType::INT64) / size_of(type));
  KernelCall call =
      elementwise("index_select", elements, type, {.reads = 1 + index, .flops = 0, .instructions = kByIndex});
  call.name = "indexSelectLargeIndex";
  return call;
}

KernelCall index_add(std::int64_t elements, DataType type) {
  const bool is_narrow = type == DataType::BF16 || type == DataType::FP16;
  KernelCall call = elementwise("index_add", elements, type,
                                {.reads = 2, .instructions = is_narrow ? kAtomicOf16Bits : kAtomicOf32Bits});
  call.name = "indexFuncLargeIndex<add>";
  return call;
}

KernelCall strided_copy(std::int64_t elements, DataType type) {
  return by_offsets("copy", elements, type, {.flops = 0});
}

KernelCall transposed_copy(std::int64_t elements, std::int64_t window, DataType type) {
  KernelCall call = strided_copy(elements, type);
  std::get<Pointwise>(call.work).sector_window = window;
  return call;
}

KernelCall unrolled_copy(std::int64_t elements, double reads, int operands, DataType type) {
  return {
      "unrolled_elementwise_kernel<copy>", type,
      Pointwise{.elements = elements, .reads = reads, .writes = 1, .flops = kOffsetArithmetic * operands}};
}

KernelCall cast(std::int64_t elements, DataType from, DataType to, bool vectorized) {
  if (vectorized && from == DataType::FP32 && (to == DataType::BF16 || to == DataType::FP16)) {
    return elementwise("cast", elements, from, {.writes = size_of(to) / size_of(from), .flops = 0});
  }
  return {"unrolled_elementwise_kernel<cast>", from,
          Pointwise{.elements = elements,
                    .reads = 1,
                    .writes = size_of(to) / size_of(from),
                    .flops = 0,
                    .instructions = kUnvectorised}};
}

KernelCall product(const Gemm& gemm, DataType type) {
  const bool is_vector = gemm.batch == 1 && (gemm.m == 1 || gemm.n == 1);
  Gemm written = gemm;
  written.split_accumulator = gemm.split_accumulator && type == DataType::FP8;
  return {is_vector ? "gemv" : std::string{name_of_product(type)}, type, written};
}

std::vector<KernelCall> grouped_product(const Gemm& gemm, DataType type) {
  Gemm grouped = gemm;
  grouped.grouped = true;
  return {{"prepare_grouped_gemm_data", DataType::INT64, Pointwise{.elements = gemm.batch}},
          {"GemmUniversal<GroupProblemShape>", type, grouped}};
}

KernelCall reduce(std::string_view what, const Reduction& reduction, DataType type) {
  return {fmt::format("reduce_kernel<{}>", what), type, reduction};
}

KernelCall concat(std::int64_t elements, std::int64_t pieces, DataType type) {
  return {"CatArrayBatchedCopy", type, Concat{.elements = elements, .pieces = pieces}};
}

KernelCall concat_strided(std::int64_t elements, std::int64_t pieces, DataType type) {
  return {"CatArrayBatchedCopy", type, Concat{.elements = elements, .pieces = pieces, .strided = true}};
}

KernelCall copy_to_device(Bytes size, bool pinned) {
  return {pinned ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy HtoD (Pageable -> Device)", DataType::FP32,
          Memcpy{.size = size, .path = Memcpy::Path::HostToDevice, .pinned = pinned}};
}

KernelCall copy_to_host(Bytes size, bool pinned) {
  return {pinned ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoH (Device -> Pageable)", DataType::FP32,
          Memcpy{.size = size, .path = Memcpy::Path::DeviceToHost, .pinned = pinned}};
}

KernelCall copy_on_device(Bytes size) {
  return {"Memcpy DtoD (Device -> Device)", DataType::FP32,
          Memcpy{.size = size, .path = Memcpy::Path::DeviceToDevice, .pinned = true}};
}

}  // namespace lockstep::kernels
