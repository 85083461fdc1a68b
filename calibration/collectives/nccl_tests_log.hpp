#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "calibration/collectives/collective_measurements.hpp"

namespace lockstep {

/// Counts of a log's rows that could be used, and of the others.
struct NcclTestsReport {
  std::size_t used = 0;
  std::size_t without_size = 0;   ///< rows of 0 bytes
  std::size_t broken = 0;         ///< rows cut off, mixed with other output, or with digits in groups
  int first_broken = 0;           ///< its line
  std::size_t unread = 0;         ///< rows behind a mark that is no launcher's, or before any header
  int first_unread = 0;           ///< its line
  std::size_t wrong = 0;          ///< rows whose results were wrong, or may have been in a run that FAILED
  std::size_t not_modelled = 0;   ///< rows of sendrecv, gather, scatter, hypercube
  std::set<std::string> devices;  ///< GPUs by the names of the `# Rank` lines, e.g. NVIDIA H100 80GB HBM3
};

/// `3 broken lines, 2 with wrong results (#wrong)`: what was left out of a log; "" for nothing.
[[nodiscard]] std::string left_out_in_words(const NcclTestsReport& report);

/// Reads the output of nccl-tests, plain or gzip, one program or several after one another, of any version
/// since 2.0: with or without `redop` and `root`, with NCCL's own lines between, behind what launchers put
/// before lines: Open MPI's `[1,0]<stdout>:` and `[prterun-HOST-PID@1,0]<stdout>: `, Hydra's `[0] `, srun's
/// `12: `, and times of day. Ranks and nodes are counted in `# Rank ... on HOST device ...`. Which collective
/// it was says `# Collective test starting: NAME` (2.17 and later); before that @p program says, or, for a
/// log of one program, the file's name. Results are wrong where nccl-tests takes them for wrong: `#wrong`,
/// `error` (largest_right_error()), or, where no row tells, `# Out of bounds values : 12 FAILED`.
/// @param program "" where the log or its name says
/// @throws InputError for a file that cannot be read or holds no such output, whose collective nobody says
/// (that of a second program neither),
///         whose nodes have unlike numbers of ranks, or that has one rank
class NcclTestsLog {
 public:
  explicit NcclTestsLog(std::string program = {}) : program_{std::move(program)} {}

  /// Appends the log's rows to @p into.
  /// @param name of the file in the names of its runs; "": its own, without folders
  NcclTestsReport read(const std::filesystem::path& file, CollectiveMeasurements& into,
                       const std::string& name = {}) const;

 private:
  std::string program_;
};

}  // namespace lockstep
