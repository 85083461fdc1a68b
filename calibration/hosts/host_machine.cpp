#include "calibration/hosts/host_machine.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace lockstep {
namespace {

struct CoreFigures {
  CpuCore core;
  double per_clock;  // of Broadwell's
  double clock_ghz;  // of one busy core in the GPU servers of its time
};

// Work per clock. Intel: Skylake 10 % over Broadwell (2015), Sunny Cove 18 % over Skylake (2019), Golden Cove
// 19 % over Cypress Cove, which is Sunny Cove (Architecture Day 2021). AMD: Zen 2 15 % over Zen (2019), Zen 3
// 19 % (2020), Zen 4 13 % (2022), Zen 5 16 % (2024). That Zen's is Broadwell's is a guess. Clocks, by the
// makers' product pages: Xeon E5-2698 v4 (DGX-1), Platinum 8168 (DGX-2), 8358, 8480C (DGX H100); EPYC 7601,
// 7742 (DGX A100), 7763, 9654, 9655.
constexpr std::array kCores{CoreFigures{CpuCore::Broadwell, 1.00, 3.6},
                            CoreFigures{CpuCore::Skylake, 1.10, 3.7},
                            CoreFigures{CpuCore::IceLake, 1.10 * 1.18, 3.4},
                            CoreFigures{CpuCore::SapphireRapids, 1.10 * 1.18 * 1.19, 3.8},
                            CoreFigures{CpuCore::Naples, 1.00, 3.2},
                            CoreFigures{CpuCore::Rome, 1.15, 3.4},
                            CoreFigures{CpuCore::Milan, 1.15 * 1.19, 3.5},
                            CoreFigures{CpuCore::Genoa, 1.15 * 1.19 * 1.13, 3.7},
                            CoreFigures{CpuCore::Turin, 1.15 * 1.19 * 1.13 * 1.16, 4.5}};

const CoreFigures& figures_of(CpuCore core) {
  const auto* const found = std::ranges::find(kCores, core, &CoreFigures::core);
  if (found == kCores.end()) throw std::logic_error{"figures_of: a core without figures"};
  return *found;
}

/// Work a second, of Broadwell's at 1 GHz.
double speed_of(CpuCore core, double clock_ghz) {
  return figures_of(core).per_clock * clock_ghz;
}

/// The interpreter's speed over that of versions before 3.11.
double speed_of(PythonVersion version) {
  constexpr double kWith311 = 1.25, kWith312 = 1.05;
  if (version < PythonVersion::V311) return 1;
  return version == PythonVersion::V311 ? kWith311 : kWith311 * kWith312;
}

// The machines that are known: configs/hosts/h100_server.yaml, xeon_vm.yaml and a100_server.yaml.
constexpr CpuCore kKnownCore = CpuCore::SapphireRapids;
constexpr PythonVersion kKnownPython = PythonVersion::V312;
constexpr double kAnySpeed = 1.2, kAnyMachines = 0.33;
constexpr double kVirtualSpeed = 0.9, kVirtualMachines = 0.22;
constexpr double kErrorAtKnownSpeed = 0.142;

}  // namespace

double usual_clock_ghz(CpuCore core) {
  return figures_of(core).clock_ghz;
}

HostSpeed expected_speed(const HostMachine& machine) {
  const double clock = machine.clock_ghz.value_or(usual_clock_ghz(machine.cpu));
  const double native = (machine.is_virtual ? kVirtualSpeed : kAnySpeed) * speed_of(machine.cpu, clock) /
                        speed_of(kKnownCore, usual_clock_ghz(kKnownCore));
  const double version = machine.python ? speed_of(*machine.python) / speed_of(kKnownPython) : 1;
  return {native, native * version, kErrorAtKnownSpeed, machine.is_virtual ? kVirtualMachines : kAnyMachines};
}

}  // namespace lockstep
