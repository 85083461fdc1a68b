#pragma once

#include <vector>

#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Training-mode batch norm behind a convolution: cuDNN's kernels, one each way. PyTorch does not take cuDNN
/// for BF16 (aten/src/ATen/native/Normalization.cpp): its own kernels collect statistics, by a block for each
/// channel in NCHW, fold them into the running ones and transform the images; channels last, backward is a
/// reduction and a pass, too. *Source*: names of a PyTorch 2.11 trace; what an element costs beside what
/// moves, in instructions: 51 million elements on an H200 at 281 elements/ns (statistics, channels last), 450
/// to 690 (transform), 600 and 500 (backward), and 447 in NCHW
/// (calibration/measurements/*/pytorch_images.csv). In NCHW the transform has a
/// block for a channel and one or more images, whose threads live as long as 195 instructions take however
/// few elements they have: blocks of 64 threads for 7 x 7 and 14 x 14 pixels start and end at 1.65 a ns on an
/// H100, with one, two or three elements a thread.
void batch_norm_forward(StepWriter& step, const ImageShape& of, bool channels_first);
void batch_norm_backward(StepWriter& step, const ImageShape& of, bool channels_first);

namespace kernels {

/// The kernels of either pass, launched in this order; @p type is that of the images.
[[nodiscard]] std::vector<KernelCall> batch_norm(const ImageShape& of, DataType type, bool channels_first,
                                                 Direction direction);

}  // namespace kernels
}  // namespace lockstep
