#pragma once

#include <optional>
#include <string>

#include "base/config_path.hpp"
#include "base/parameters.hpp"
#include "scenario/schedule_spec.hpp"

namespace lockstep {

/// A GPU's power by its data sheet, for energies that nobody measured.
struct GpuPower {
  static constexpr const char* kConfigKind = "power";

  std::string name;
  std::string source;
  Watts tdp;
  double busy_share = 0.85;
  double idle_share = 0.15;

  template <class Visitor>
  static void describe(Visitor& key, GpuPower& power) {
    key.required("name", power.name, "the GPU's name in configs/gpus");
    key.required("source", power.source, "where the figure comes from");
    key.required("tdp", power.tdp, "thermal design power, e.g. 400 W");
    key.optional("busy_share", power.busy_share, 0.85,
                 "of it, drawn while kernels and copies run (a guess: training draws most of it)");
    key.optional("idle_share", power.idle_share, 0.15, "of it, drawn between them (a guess)");
  }
  void check() const;

  [[nodiscard]] PowerSpec power() const { return {{busy_share * tdp.watts}, {idle_share * tdp.watts}}; }
};

/// The power of a GPU model; std::nullopt where configs/power does not have it.
[[nodiscard]] std::optional<GpuPower> known_power(const std::string& gpu, const ConfigPath& configs);

}  // namespace lockstep
