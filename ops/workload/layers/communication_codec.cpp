#include "ops/workload/layers/communication_codec.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// Bytes of an encoded element as a part of an FP32 one.
double part_of_fp32(CommunicationType type) {
  return encoded_size(1, type) / size_of(DataType::FP32);
}

const char* encoder(CommunicationType type) {
  switch (type) {
    case CommunicationType::FP8:
      return "_float_to_hfp8_cuda_kernel";
    case CommunicationType::INT8:
      return "_float_to_fused8bitrowwise_cuda_kernel";
    default:
      return "unrolled_elementwise_kernel<cast>";
  }
}

const char* decoder(CommunicationType type) {
  switch (type) {
    case CommunicationType::FP8:
      return "_hfp8_to_float_cuda_kernel";
    case CommunicationType::INT8:
      return "_fused8bitrowwise_to_float_cuda_kernel";
    default:
      return "unrolled_elementwise_kernel<cast>";
  }
}

/// A cast to or from 16 bits is PyTorch's own kernel, the others are written for their types.
double instructions(CommunicationType type) {
  return type == CommunicationType::FP8 || type == CommunicationType::INT8 ? 0 : kernels::kUnvectorised;
}

}  // namespace

void encode(StepWriter& step, CommunicationType type, const ElementsOfRank& elements) {
  if (type == CommunicationType::FP32) {
    return;
  }
  if (type != CommunicationType::INT8) {
    step.launch_by_rank(
        [&](std::size_t rank) { return kernels::elementwise("clamp", elements(rank), DataType::FP32, {}); });
  }
  step.launch_by_rank([&](std::size_t rank) {
    return KernelCall{encoder(type), DataType::FP32,
                      Pointwise{.elements = elements(rank),
                                .reads = 1,
                                .writes = part_of_fp32(type),
                                .flops = 1,
                                .instructions = instructions(type)}};
  });
}

void decode(StepWriter& step, CommunicationType type, const ElementsOfRank& elements) {
  if (type == CommunicationType::FP32) {
    return;
  }
  step.launch_by_rank([&](std::size_t rank) {
    return KernelCall{decoder(type), DataType::FP32,
                      Pointwise{.elements = elements(rank),
                                .reads = part_of_fp32(type),
                                .writes = 1,
                                .flops = 1,
                                .instructions = instructions(type)}};
  });
}

}  // namespace lockstep
