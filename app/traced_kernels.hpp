#pragma once

#include <filesystem>

#include "calibration/kernels/kernel_import.hpp"

namespace lockstep {

/// Whether a file is a trace of PyTorch's profiler by its name: *.json, *.json.gz.
[[nodiscard]] bool is_trace_name(const std::filesystem::path& file);

/// Appends the kernels of one rank's Kineto trace (recorded with shapes) whose work its operators tell and a
/// row of measured kernels can say (kernel_call()): products, convolutions, softmax and layer norm forward,
/// attention, element-wise kernels. Kernels that together do one thing are one row. Others are counted as not
/// modelled, element-wise ones of strided operands (replay::computes_offsets()) as such. Those that ran while
/// the device had other work on another stream are left out, as it made them longer. Times are as recorded,
/// by about a microsecond lengthened by the profiler.
/// @throws InputError for a file that cannot be read, holds no work, was simulated, or is of a GPU with other
/// multiprocessors
KernelImportReport import_traced_kernels(const std::filesystem::path& file,
                                         const KernelImportOptions& options,
                                         KernelMeasurements& measurements);

}  // namespace lockstep
