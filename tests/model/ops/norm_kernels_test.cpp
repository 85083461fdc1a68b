// Norms of Megatron-LM against what their author published, and how their kernels scale.

#include "ops/workload/parallel/norm_kernels.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

GpuSpec gpu_called(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

double microseconds(const KernelCall& call, const GpuSpec& gpu) {
  return model_for(call).predict(call, gpu).duration / Seconds{1e-6};
}

double backward_us(const TransformerSpec& model, std::int64_t rows, std::int64_t columns,
                   const GpuSpec& gpu) {
  double all = 0;
  for (const KernelCall& call : norm_backward_kernels(model, DataType::FP16, rows, columns)) {
    all += microseconds(call, gpu);
  }
  return all;
}

/// github.com/NVIDIA/apex/pull/1037: 32 x 512 rows of 1,024 in FP16, an A100 of 40 GB. FusedLayerNorm's
/// instructions were counted by these times, FastLayerNorm's bytes are nobody's fit.
TEST(NormKernels, TakeWhatTheirAuthorSays) {
  const GpuSpec gpu = gpu_called("a100_40gb");
  TransformerSpec model;
  const auto forward = [&] {
    return microseconds(norm_forward_kernel(model, DataType::FP16, 32 * 512, 1024), gpu);
  };
  EXPECT_NEAR(forward() / 53.5, 1, 0.10);
  EXPECT_NEAR(backward_us(model, 32 * 512, 1024, gpu) / 86.6, 1, 0.12);
  model.norm_kernels = NormKernels::Apex;
  EXPECT_NEAR(forward() / 75.1, 1, 0.05);
  EXPECT_NEAR(backward_us(model, 32 * 512, 1024, gpu) / 176.2, 1, 0.05);
}

/// Three passes over the matrix backward, two forward; what the second kernel adds up does not grow.
TEST(NormKernels, PersistentOnesMoveEachRowOnce) {
  const GpuSpec gpu = gpu_called("h100_80gb");
  TransformerSpec model;
  model.normalisation = Normalisation::Rms;
  const auto grown = [&](auto time) { return time(std::int64_t{65536}) - time(std::int64_t{32768}); };
  const double forward = grown([&](std::int64_t rows) {
    return microseconds(norm_forward_kernel(model, DataType::BF16, rows, 4096), gpu);
  });
  const double backward = grown([&](std::int64_t rows) { return backward_us(model, rows, 4096, gpu); });
  EXPECT_NEAR(backward / forward, 1.5, 0.05);
  model.norm_kernels = NormKernels::Pytorch;
  EXPECT_GT(backward_us(model, 65536, 4096, gpu), 1.5 * backward_us({}, 65536, 4096, gpu));
}

}  // namespace
}  // namespace lockstep
