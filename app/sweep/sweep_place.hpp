#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep {

/// The place of this process among the processes of one sweep.
struct SweepPlace {
  int rank = 0;
  int size = 1;
  bool waits = true;  ///< until the others are done too; it then writes the table

  [[nodiscard]] bool is_alone() const { return size == 1; }
};

/// The value of an environment variable.
using Environment = std::function<std::optional<std::string>(const char* name)>;

[[nodiscard]] Environment process_environment();

/// The place by `--shard I/N`, else by what a launcher tells its processes: Open MPI, PMI (MPICH, Intel MPI,
/// srun --mpi=pmi2) or Slurm. No MPI library is needed: processes meet in the folder of the sweep. Rank 0
/// waits for the others; the shards of a job array, which may run one after the other, do not.
/// @param shard empty where none was given
/// @throws std::invalid_argument for a shard that is none
[[nodiscard]] SweepPlace sweep_place(const std::string& shard, const Environment& environment);

/// How many points a process simulates at a time unless told: all cores it may use; for one of several
/// processes what Slurm gives each (SLURM_CPUS_PER_TASK), else 1.
[[nodiscard]] int usual_jobs(const SweepPlace& place, const Environment& environment);

}  // namespace lockstep
