#include "calibration/hosts/host_probe.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/parameters.hpp"

namespace lockstep {
namespace {

constexpr const char* kFormat = "lockstep-host-probe.1";

// The least of three probes of a virtual machine of xeon_vm's kind: Xeon of family 6, model 207,
// Python 3.11.7 (tests/data/host_probe/emerald_rapids_vm.json).
const std::map<std::string, double>& reference_python() {
  static const std::map<std::string, double> figures{{"attributes", 24.18},
                                                     {"calls", 258.82},
                                                     {"containers", 145.71},
                                                     {"foreign_calls", 166.58},
                                                     {"loop", 47.5}};
  return figures;
}

const std::map<std::string, double>& reference_native() {
  static const std::map<std::string, double> figures{
      {"compressing", 35785.7}, {"matching", 134332.7}, {"sorting", 11604.1}, {"writing_json", 24322.2}};
  return figures;
}

constexpr double kReferenceSpeed = 0.9;      // configs/hosts/xeon_vm.yaml: over a100_server's
constexpr double kReferenceMachines = 0.22;  // there: how far four machines of one kind are from their mean
constexpr double kTraceError = 0.142;  // configs/hosts/a100_server.yaml: of its operators at a known speed

void check_tasks(const char* key, const std::map<std::string, double>& found,
                 const std::map<std::string, double>& known) {
  for (const auto& [task, time] : known) {
    if (!found.contains(task)) {
      throw FieldError{key,
                       fmt::format("'{}' is missing: was it written by this version's probe_host.py?", task)};
    }
  }
  for (const auto& [task, time] : found) {
    if (!known.contains(task)) {
      throw FieldError{fmt::format("{}.{}", key, task), "is no task of this version's probe_host.py"};
    }
    if (!(time > 0)) {
      throw FieldError{fmt::format("{}.{}", key, task), "a time in ns, above 0"};
    }
  }
}

/// The geometric mean of reference times over those found.
double speed_over(const std::map<std::string, double>& reference,
                  const std::map<std::string, double>& found) {
  double sum = 0;
  for (const auto& [task, time] : reference) {
    sum += std::log(time / found.at(task));
  }
  return std::exp(sum / static_cast<double>(reference.size()));
}

/// Nanoseconds from one call of an operator that launches one kernel to the next.
double priced_ns(const HostOverheads& host, const std::string& name) {
  constexpr double kNano = 1e9;
  const OperatorOverhead& of = host.of(name);
  return kNano * (host.between_operators + of.before_first_launch +
                  host.duration_of(RuntimeCall::LaunchKernel) + of.after_last_launch)
                     .in_base_units();
}

}  // namespace

void HostProbe::check() const {
  if (format != kFormat) {
    throw FieldError{"format",
                     fmt::format("'{}' is not {}, what tools/capture/probe_host.py writes", format, kFormat)};
  }
  check_tasks("python_ns", python_ns, reference_python());
  check_tasks("native_ns", native_ns, reference_native());
  if (torch) {
    for (const auto& [name, time] : torch->operators_ns) {
      if (!(time > 0)) throw FieldError{"torch", fmt::format("{}: a time in ns, above 0", name)};
    }
  }
}

ProbedSpeed probed_speed(const HostProbe& probe, const HostOverheads& start) {
  const double native = speed_over(reference_native(), probe.native_ns);
  const double python = speed_over(reference_python(), probe.python_ns);
  ProbedSpeed probed{{kReferenceSpeed * native, kReferenceSpeed * python, kTraceError, kReferenceMachines}};
  if (!probe.torch) {
    return probed;
  }
  double sum = 0;
  for (const auto& [name, time] : probe.torch->operators_ns) {
    if (start.operators.contains(name)) {
      sum += std::log(priced_ns(start, name) / time);
      ++probed.operators;
    }
  }
  if (probed.operators > 0) {
    const double speed = std::exp(sum / static_cast<double>(probed.operators));
    probed.speed = {speed, speed * python / native, kTraceError, 0};
  }
  return probed;
}

std::string machine_in_words(const HostProbe& probe) {
  return fmt::format("{}{}, Python {}", probe.cpu, probe.virtualised ? ", virtual" : "", probe.python);
}

std::string basis_in_words(const HostProbe& probe, const ProbedSpeed& speed) {
  return speed.operators > 0
             ? fmt::format("probe_host.py, {} operators that PyTorch {} launched on a {}", speed.operators,
                           probe.torch->version, probe.torch->gpu)
             : "probe_host.py, Python and compiled code over a virtual machine of xeon_vm's kind";
}

}  // namespace lockstep
