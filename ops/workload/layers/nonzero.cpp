#include "ops/workload/layers/nonzero.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {

void nonzero(StepWriter& step, std::int64_t elements, std::int64_t found) {
  const auto small = [&](const char* name, std::int64_t of, DataType type) {
    step.launch({name, type, Pointwise{.elements = of}});
  };
  small("DeviceReduceSingleTileKernel", elements, DataType::BOOL);
  step.launch(kernels::copy_to_host(size_of(DataType::INT32), false));
  step.program().wait_stream(step.current());
  small("DeviceCompactInitKernel", 1, DataType::INT64);
  small("DeviceSelectSweepKernel", elements, DataType::BOOL);
  if (found > 0) {
    small("write_indices", found, DataType::INT64);
  }
}

}  // namespace lockstep
