#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/yaml_document.hpp"
#include "calibration/kernels/kernel_fit.hpp"
#include "calibration/kernels/kernel_measurements.hpp"
#include "calibration/kernels/kernel_residuals.hpp"

namespace lockstep {

/// A number of KernelEfficiency, or one factor on all tiles of a kind of product.
struct FittedConstant {
  std::string key;    ///< e.g. random_rows, fp32.tiles
  double before = 0;  ///< factors: 1
  double after = 0;
  std::string unit;  ///< us for latencies; empty for fractions and factors
  /// Factors beyond it, or below its inverse, are more than the shipped sets differ: 1.5 for a fraction, 2.5
  /// for tiles and latencies (plausible_factor() in constant_fit.cpp says from which).
  double plausible = 1;

  [[nodiscard]] double factor() const { return after / before; }
};

/// Signed relative errors (predicted / measured - 1) with the constants as they were and as they became.
struct ConstantErrors {
  std::string family;
  std::vector<double> fitted_before, fitted_after, held_out_before, held_out_after;
};

/// A constant that stays as it was.
struct KeptConstant {
  std::string key;
  std::string why;
};

struct ConstantFit {
  std::string gpu;  ///< whose rows they are
  std::vector<FittedConstant> constants;
  std::vector<KeptConstant> kept;
  std::vector<ConstantErrors> families;
  std::vector<std::string> split_with_m;  ///< of families: those of few weight matrices (split_by_shape())
  std::string start;                      ///< name of the set that the constants were of before
  bool start_is_own = false;              ///< whether that was made for this very GPU (docs/trust.md)
  std::size_t unused = 0;                 ///< rows that none of the constants belongs to
  double error = 0;                       ///< mean of absolute errors of the rows held out, of all families
  /// The same mean error, of the families that depend on a constant.
  [[nodiscard]] double error_of(const std::string& key) const;
  KernelEfficiency efficiency;
  std::vector<KernelResidual> residuals;  ///< one each measurement
};

/// The few constants of the kernel models for one GPU, fitted to measurements there: where a network would
/// want hundreds of rows, some tens are enough.
///
///   pointwise             memory                      softmax, layer_norm   softmax, layer_norm
///   embedding_forward     random_rows, row_latency    gemm                  one factor on the tiles of fp32,
///   embedding_backward    scattered_update, row_latency                     fp32_batched or tensor
///
/// Pointwise rows with instructions wait for those, too, and are not used. Rows are split by shape before
/// anything is fitted (split_by_shape()). Least squares of ln(predicted / measured) in units of 5 %,
/// softened; fractions stay within 1. A constant that no fitted row depends on stays as it is; so does one
/// with which the held-out rows that depend on it, or the fitted ones, are missed by as much as before or
/// more (the others are fitted anew without it), of which none is held out, or which cannot move (a fraction
/// at 1). GPUs' networks are left aside.
/// @throws InputError as @p gpu, std::invalid_argument for rows of several GPUs, for less than 4 fitted rows
/// of every family (others are left out), where nothing gets better on the rows held out
[[nodiscard]] ConstantFit fit_constants(const KernelMeasurements& measurements, const GpuByName& gpu,
                                        double held_out);

/// The table of constants and errors.
[[nodiscard]] std::string constant_fit_text(const ConstantFit& fit);

/// Reasons to doubt a fit, each in a sentence; empty for a sound one.
///
///   misfit    a family whose held-out rows are missed by more than 50 % on average
///   far off   a constant that moved by more than FittedConstant::plausible: it stands for something else
[[nodiscard]] std::vector<std::string> constant_doubts(const ConstantFit& fit);

/// The set @p base, fit.start, with the constants in place, each with where it comes from. What was not
/// fitted keeps the evidence of the start, with its name, where that is this GPU's own; else it becomes
/// derived.
[[nodiscard]] YamlDocument with_constants(const ConstantFit& fit, YamlDocument base, const std::string& name,
                                          const std::string& source);

}  // namespace lockstep
