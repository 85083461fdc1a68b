#include "ops/kernel.hpp"

namespace lockstep {

Bytes size_of(DataType type) {
  switch (type) {
    case DataType::FP32:
    case DataType::TF32:
    case DataType::INT32:
      return Bytes{4};
    case DataType::FP16:
    case DataType::BF16:
      return Bytes{2};
    case DataType::INT64:
      return Bytes{8};
    case DataType::FP8:
    case DataType::UINT8:
    case DataType::BOOL:
      return Bytes{1};
  }
  return Bytes{4};
}

}  // namespace lockstep
