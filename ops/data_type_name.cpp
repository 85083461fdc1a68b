#include "ops/data_type_name.hpp"

namespace lockstep {

std::string_view data_type_name(DataType type) {
  switch (type) {
    case DataType::FP32:
      return "fp32";
    case DataType::TF32:
      return "tf32";
    case DataType::FP16:
      return "fp16";
    case DataType::BF16:
      return "bf16";
    case DataType::FP8:
      return "fp8";
    case DataType::INT32:
      return "int32";
    case DataType::INT64:
      return "int64";
    case DataType::UINT8:
      return "uint8";
    case DataType::BOOL:
      return "bool";
  }
  return "unknown";
}

}  // namespace lockstep
