#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

struct SlurmJob {
  std::string name;                      ///< of the scenario
  std::filesystem::path program;         ///< absolute
  std::filesystem::path scenario;        ///< absolute
  std::filesystem::path folder;          ///< of the sweep, absolute, on a file system that all nodes see
  std::vector<std::string> assignments;  ///< of --set
  int tasks = 1;                         ///< of the array, >= 1
};

/// A script for `sbatch`: a job array of which each task is one shard of the sweep.
[[nodiscard]] std::string slurm_script(const SlurmJob& job);

}  // namespace lockstep
