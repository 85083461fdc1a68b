#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "calibration/kernels/kernel_measurements.hpp"

namespace lockstep {

/// Selects the rows of a foreign table to take.
struct KernelImportOptions {
  std::string gpu;     ///< a name of configs/gpus, or a file: the table's machine
  std::string device;  ///< of tables of several machines: the rows of this `Device`; empty: all
  /// Rows that are expected to be shorter are left out: where a table's times contain the host's launches.
  /// Whoever chose by measured times would keep the slowest of short kernels.
  Seconds shortest{0};
  /// That each time of a table has beside its kernel, as of the events round it; taken off. What is no longer
  /// than that is left out.
  Seconds timing_adds{0};
  std::function<Seconds(const KernelCall&)> expected;  ///< by formulas; asked for where `shortest` is above 0
  int multiprocessors = 0;  ///< of that GPU; 0: not compared with what a file says of its own
};

/// Counts of a table's rows, by what became of them.
struct KernelImportReport {
  std::size_t used = 0;
  std::size_t other_device = 0;
  std::size_t too_short = 0;      ///< or nothing but what timing adds
  std::size_t beside_others = 0;  ///< of traces: ran while other streams had work, which makes them longer
  std::size_t strided = 0;        ///< of traces: element-wise, by offsets that the shapes do not tell
  std::size_t not_modelled = 0;   ///< kinds of kernel without a network's features
  std::string source;             ///< the file and what it says of its machine, versions and date
  std::string device;             ///< the GPU's name by its maker, as the file has it; empty: not said
  Bytes memory{0};                ///< that the file says its GPU has; 0: not said
};

/// The GPU of a file's kernels, in the words of the file.
struct StatedGpu {
  std::string name;     ///< by its maker
  std::string file;     ///< that says so
  int multiprocessors;  ///< 0: not said
};

/// Whether @p call is expected to be shorter than @p options have it.
[[nodiscard]] bool is_too_short(const KernelCall& call, const KernelImportOptions& options);

/// A file that says how many multiprocessors its GPU has is of that GPU or of none of the name.
/// @throws InputError where they are others than those of @p options
void check_multiprocessors(const StatedGpu& stated, const KernelImportOptions& options);

/// Appends the measurements of a table, plain or gzip, to @p measurements. The table's columns tell whose it
/// is:
///
///   lockstep-measure   gemm.csv, normalisation.csv, embedding.csv (docs/measuring.md): median_us
///   NeuSight           OPName, Device, Latency (ms), B, M, N, K or B, H (sitar-lab/NeuSight); FP32
///   vidur              num_tokens, time_stats.mlp_up_proj.median (ms), ... (microsoft/vidur); FP16
///
/// @throws InputError for a file that cannot be read, is none of these, is of a GPU with other
/// multiprocessors, or holds no number where one belongs (sizes are whole, times above 0);
/// std::invalid_argument for a type that the GPU lacks, where `shortest` is above 0
KernelImportReport import_kernel_table(const std::filesystem::path& file, const KernelImportOptions& options,
                                       KernelMeasurements& measurements);

}  // namespace lockstep
