#pragma once

/// @file
/// A host by what its user knows of it: the core of its CPU, its clock, Python's version, whether it is
/// virtual.

#include <array>
#include <cstdint>
#include <optional>

#include "base/parameters.hpp"

namespace lockstep {

/// Cores of server CPUs, by the first product that had them.
enum class CpuCore : std::uint8_t {
  Broadwell,
  Skylake,
  IceLake,
  SapphireRapids,
  Naples,
  Rome,
  Milan,
  Genoa,
  Turin
};

constexpr auto names_of(CpuCore /*unused*/) {
  return std::to_array<EnumName<CpuCore>>({{CpuCore::Broadwell, "broadwell"},
                                           {CpuCore::Skylake, "skylake"},
                                           {CpuCore::IceLake, "ice_lake"},
                                           {CpuCore::SapphireRapids, "sapphire_rapids"},
                                           {CpuCore::Naples, "naples"},
                                           {CpuCore::Rome, "rome"},
                                           {CpuCore::Milan, "milan"},
                                           {CpuCore::Genoa, "genoa"},
                                           {CpuCore::Turin, "turin"}});
}

enum class PythonVersion : std::uint8_t { V38, V39, V310, V311, V312, V313 };

constexpr auto names_of(PythonVersion /*unused*/) {
  return std::to_array<EnumName<PythonVersion>>({{PythonVersion::V38, "3.8"},
                                                 {PythonVersion::V39, "3.9"},
                                                 {PythonVersion::V310, "3.10"},
                                                 {PythonVersion::V311, "3.11"},
                                                 {PythonVersion::V312, "3.12"},
                                                 {PythonVersion::V313, "3.13"}});
}

/// A machine, as far as its user knows it.
struct HostMachine {
  CpuCore cpu = CpuCore::SapphireRapids;
  std::optional<double> clock_ghz{};      ///< the highest of one busy core; left out: usual_clock_ghz()
  std::optional<PythonVersion> python{};  ///< left out: as on the machines that are known
  bool is_virtual = false;
};

/// How fast a host is, over the machine that `a100_server` was traced on.
struct HostSpeed {
  double native = 1;    ///< of compiled code, so of operators and runtime calls
  double python = 1;    ///< of the interpreter, so of what is between operators
  double error = 0;     ///< mean relative error of host times on one machine of known speed
  double machines = 0;  ///< mean relative difference between machines of which the same is known
};

/// Highest clock of one busy core in GPU servers with this core.
[[nodiscard]] double usual_clock_ghz(CpuCore core);

/// The speed of the seven machines of H100s and H200s that are known (configs/hosts/h100_server.yaml; of the
/// virtual ones for a virtual machine: xeon_vm.yaml), times work per clock and clock over theirs, and for the
/// interpreter times what Python's version gains. Work per clock is the makers' own mean over programs (Intel
/// 2015, 2019, 2021; AMD 2019 to 2024). Python: docs.python.org, What's New: 3.11 1.25 times 3.10, 3.12 5 %.
[[nodiscard]] HostSpeed expected_speed(const HostMachine& machine);

}  // namespace lockstep
