#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/kernels/kernel_import.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// --gpu, --device, --shortest and --timing-adds of `lockstep calibrate import`.
void add_kernel_import_options(CLI::App& command, KernelImportOptions& options);

/// Tables of measured kernels as one; @p output empty: stdout. Returns the exit code.
/// @throws InputError
int import_kernels_command(const std::vector<std::filesystem::path>& files,
                           const KernelImportOptions& options, const std::string& output);

/// Options of `lockstep calibrate fit` for kernels, beside files, name and output.
struct FitKernelsOptions {
  std::vector<std::filesystem::path> tests;
  std::uint64_t seed = 1;
  bool constants = false;       ///< the models' own, in place of networks
  std::string residuals, plot;  ///< files for every row with its prediction, CSV and SVG; empty: none
};
void add_fit_kernels_options(CLI::App& command, FitKernelsOptions& options);

/// Networks for configs/learned_kernels from measured kernels, or a set of constants for
/// configs/kernel_efficiency; says on stdout how good they are. Returns the exit code.
/// @throws InputError, std::invalid_argument where no network is better than its formula, or no constant than
///   what it was
int fit_kernels_command(const std::vector<std::filesystem::path>& files, const std::string& name,
                        const std::string& output, const FitKernelsOptions& options);

}  // namespace lockstep
