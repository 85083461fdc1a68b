#pragma once

/// @file
/// A host by what tools/capture/probe_host.py measured there, without a GPU or with one.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "calibration/hosts/host_machine.hpp"
#include "ops/host_overhead.hpp"

namespace lockstep {

/// Operators that PyTorch launched on a GPU.
struct ProbedOperators {
  std::string version;
  std::string gpu;
  std::map<std::string, double>
      operators_ns;  ///< by PyTorch's name: host time of one, with what is around it

  template <class Visitor>
  static void describe(Visitor& key, ProbedOperators& of) {
    key.required("version", of.version, "of PyTorch");
    key.required("gpu", of.gpu, "its name");
    key.required("operators_ns", of.operators_ns, "ns from one call of the operator to the next");
  }
};

/// The probe's file.
struct HostProbe {
  std::string format;
  std::string cpu;
  bool virtualised = false;
  std::string python;
  std::map<std::string, double> python_ns;
  std::map<std::string, double> native_ns;
  std::optional<ProbedOperators> torch;

  template <class Visitor>
  static void describe(Visitor& key, HostProbe& probe) {
    key.required("format", probe.format, "lockstep-host-probe.1");
    key.required("cpu", probe.cpu, "its name, family and model");
    key.required("virtualised", probe.virtualised, "whether the CPU says that a hypervisor is below");
    key.required("python", probe.python, "version");
    key.required("python_ns", probe.python_ns, "ns of one turn of what the interpreter runs, by name");
    key.required("native_ns", probe.native_ns, "the same of compiled code");
    key.optional("torch", probe.torch, std::nullopt, "operators launched on a GPU, where there is one");
  }
  /// @throws FieldError for another format, a time that is none, a task that is missing or not known
  void check() const;
};

/// How fast a probed host is, over the machine of @p start, which is as measured (HostOverheads::speed 1).
struct ProbedSpeed {
  HostSpeed speed;
  std::size_t operators =
      0;  ///< that PyTorch launched and @p start lists; 0: by Python and compiled code alone
};

/// The probe with operators launched by PyTorch: the geometric mean of what @p start says they take (T1, T2,
/// T4 and T3) over what they took. Without: speeds over the virtual machine of `xeon_vm`'s kind that the
/// reference figures are of (tests/data/host_probe/emerald_rapids_vm.json), geometric means over the tasks,
/// times xeon_vm's speed.
[[nodiscard]] ProbedSpeed probed_speed(const HostProbe& probe, const HostOverheads& start);

/// In words, for a profile's `source` and provenance.
[[nodiscard]] std::string machine_in_words(const HostProbe& probe);
[[nodiscard]] std::string basis_in_words(const HostProbe& probe, const ProbedSpeed& speed);

}  // namespace lockstep
