#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibration/kernels/kernel_measurements.hpp"
#include "calibration/kernels/kernel_residuals.hpp"
#include "calibration/kernels/network_training.hpp"
#include "ops/gpu/gpu_spec.hpp"

namespace lockstep {

/// Rows that no network learns from: another table, of larger shapes or another GPU.
struct KernelTest {
  std::string name;  ///< of its file
  KernelMeasurements rows;
};

struct KernelFitOptions {
  double held_out = 0.2;     ///< share of the shapes that are only predicted
  double validation = 0.15;  ///< share of the shapes that say when training stops
  std::size_t fewest = 200;  ///< rows that a network is made from at least
  TrainingOptions training;
};

/// Signed relative errors (predicted / measured - 1) of network and formula on the same rows.
struct KernelErrors {
  std::string name;  ///< "fitted", "held out" (of the network that is judged), or NAME of a test, on GPU
  std::vector<double> network;  ///< where the network covers the row
  std::vector<double> formula;  ///< of the same rows
  std::vector<double> beyond;   ///< the formula's, where the network does not cover the row
  bool left_out_gpu = false;    ///< a test on a GPU that was not learned from
};

/// One kind of kernel: the network that was trained for it, and whether it is better than the formula.
struct FittedKernel {
  LearnedKernel network;             ///< has learned from the rows that were held out, too
  std::vector<KernelErrors> errors;  ///< fitted, held out, then tests
  /// Residuals of the judged network where it covers a row, else of the formula; tests' of the kept one.
  std::vector<KernelResidual> residuals;
  std::size_t rows = 0;
  bool trained = false;  ///< false: too few rows
  /// The network's mean |error| is less than the formula's on the held-out rows, and on each test of its own
  /// GPUs with at least 20 rows that it covers.
  bool taken = false;
};

struct KernelFit {
  std::vector<FittedKernel> kernels;
  std::vector<std::string> gpus;              ///< measured, by their own names
  std::map<std::string, LearnedScale> scale;  ///< of each of them
  std::size_t unseen = 0;                     ///< rows whose work networks do not answer for
};

/// A GPU by its name in the tables. @throws InputError for one that is not there
using GpuByName = std::function<const GpuSpec&(const std::string&)>;

/// Trains a network for each kind of kernel (family, type, layout) of @p measurements.
///
/// Rows are split before anything is fitted, by shape: a hash of the shape decides, of products of the shape
/// without m, so that all rows with one weight matrix stay together. Rows of tests whose shape (with m) was
/// learned from on the same GPU are left out. A network that has not seen the held-out rows is judged by
/// them; the one that is kept is trained anew with them, and predicts the tests. The band is what 9 of 10
/// errors stay within, on the held-out rows or the worst test.
/// @throws InputError as @p gpu, std::invalid_argument for shares that leave nothing to learn from
[[nodiscard]] KernelFit fit_kernels(const KernelMeasurements& measurements,
                                    const std::vector<KernelTest>& tests, const GpuByName& gpu,
                                    const KernelFitOptions& options);

/// The kind of kernel of a network in words, e.g. gemm fp16 nt.
[[nodiscard]] std::string title_of(const LearnedKernel& network);

/// Errors by kind of kernel, and what was taken.
[[nodiscard]] std::string kernel_fit_text(const KernelFit& fit);

/// The networks that were taken as a file of configs/learned_kernels.
/// @throws std::invalid_argument where none was taken
[[nodiscard]] std::string learned_kernels_yaml(const KernelFit& fit, const std::string& name,
                                               const std::string& source);

}  // namespace lockstep
