#pragma once

#include "calibration/measure/kernels/element_types.cuh"
#include "generate/runtime/device.cuh"

namespace benchmark {

/// Calls @p use with an element of a floating-point type as it is in memory. @throws Failure for another type
template <class Use>
Launch with_element(const std::string& type, const Use& use) {
  if (type == "fp16") {
    return use(__half{});
  }
  if (type == "bf16") {
    return use(__nv_bfloat16{});
  }
  if (type != "fp32" && type != "tf32") {
    fail("no kernel for elements of type '" + type + "'", "operations.txt");
  }
  return use(float{});
}

}  // namespace benchmark
