#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

struct CalibrateImportOptions {
  std::vector<std::filesystem::path> logs;
  std::string collective;  ///< for logs that do not say which it was
  std::string output;      ///< file; empty: stdout
};

/// nccl-tests' logs as one table of measurements. Returns the exit code.
/// @throws InputError, also where they hold no measurement
int calibrate_import_command(const CalibrateImportOptions& options);

struct CalibrateFitOptions {
  std::vector<std::filesystem::path> files;  ///< tables of import, or logs
  std::string collective;                    ///< for logs that do not say
  std::string cluster;
  std::string start;  ///< a name of configs/profiles, or a file; empty: what a run on the cluster takes
  std::string name;   ///< of the new profile
  std::string output;
  std::string residuals;  ///< file; empty: not asked for
  std::string plot;       ///< likewise
  int held_out_every = 4;
  std::vector<int> held_out_groups;
  std::string p2p_level;      ///< NCCL_P2P_LEVEL of the runs; empty: NCCL's own rule
  std::string net_gdr_level;  ///< NCCL_NET_GDR_LEVEL of the runs; likewise
};

/// A profile for configs/profiles from measured collectives. The report is printed before anything is
/// written, and all outputs are or none. Returns the exit code.
/// @throws InputError, also where no number moves; std::invalid_argument for groups that the cluster does not
/// have, or where all is held out
int calibrate_fit_command(const CalibrateFitOptions& options);

}  // namespace lockstep
