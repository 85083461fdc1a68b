#include "app/sweep/sweep_place.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace lockstep {
namespace {

struct Launcher {
  const char* rank;
  const char* size;
};
/// Open MPI's mpirun; Hydra (MPICH, Intel MPI) and Slurm's PMI-2; Slurm's srun.
constexpr std::array<Launcher, 3> kLaunchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                              {"PMI_RANK", "PMI_SIZE"},
                                              {"SLURM_PROCID", "SLURM_NTASKS"}}};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

std::optional<SweepPlace> place_of(const std::optional<int>& rank, const std::optional<int>& size,
                                   bool waits) {
  if (!rank || !size || *rank < 0 || *rank >= *size) {
    return std::nullopt;
  }
  return SweepPlace{*rank, *size, waits};
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
}

SweepPlace sweep_place(const std::string& shard, const Environment& environment) {
  if (!shard.empty()) {
    const auto slash = std::min(shard.find('/'), shard.size());
    const auto given = place_of(
        number(std::string_view{shard}.substr(0, slash)),
        slash < shard.size() ? number(std::string_view{shard}.substr(slash + 1)) : std::nullopt, false);
    if (!given) {
      throw std::invalid_argument{fmt::format(
          "--shard {}: expected I/N, the I-th of N processes, counted from 0, e.g. --shard 0/4", shard)};
    }
    return *given;
  }
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = environment(launcher.rank);
    const auto size = environment(launcher.size);
    const auto place = place_of(rank ? number(*rank) : std::nullopt, size ? number(*size) : std::nullopt,
                                rank && number(*rank) == 0);
    if (place) {
      return *place;
    }
  }
  return {};
}

int usual_jobs(const SweepPlace& place, const Environment& environment) {
  if (!place.is_alone()) {
    const auto cores = environment("SLURM_CPUS_PER_TASK");
    return std::max(1, cores ? number(*cores).value_or(1) : 1);
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

}  // namespace lockstep
