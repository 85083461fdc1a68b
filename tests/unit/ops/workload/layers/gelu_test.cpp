// GELU against the times of github.com/microsoft/onnxruntime/pull/16608: 25,165,824 elements of 16 bits on a
// V100.

#include "ops/workload/layers/gelu.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernels/pointwise.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

struct Times {
  double forward, backward;
};

Times us(Gelu gelu) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  const auto kernel = [&](double reads, const GeluWork& of) {
    const Pointwise work{.elements = 256 * 128 * 768,
                         .reads = reads,
                         .writes = 1,
                         .flops = of.flops,
                         .instructions = of.instructions};
    return PointwiseModel{}.predict({"gelu", DataType::FP16, work}, gpu).duration / 1_us;
  };
  return {kernel(1, forward_work(gelu)), kernel(2, backward_work(gelu))};
}

TEST(Gelu, with_normcdf_takes_the_measured_time) {
  const Times old = us(Gelu::Normcdf);
  EXPECT_NEAR(old.forward, 246.37, 0.04 * 246.37);
  EXPECT_NEAR(old.backward, 292.77, 0.04 * 292.77);
}

TEST(Gelu, with_erf_and_with_tanh_is_bound_by_memory) {
  const Times now = us(Gelu::Fused), tanh = us(Gelu::Tanh);
  EXPECT_NEAR(now.forward, 132.45, 0.1 * 132.45);
  EXPECT_NEAR(now.backward, 199.14, 0.1 * 199.14);
  EXPECT_DOUBLE_EQ(tanh.forward, now.forward);
  EXPECT_DOUBLE_EQ(tanh.backward, now.backward);
}

}  // namespace
}  // namespace lockstep
