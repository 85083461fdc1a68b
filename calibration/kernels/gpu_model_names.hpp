#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// The maker's models of GPU, as the names of configurations have them: h100_80gb, h100_80gb_pcie and
/// h100_80gb_boost are of one model, H100; titan_xp and titan_xp_locked_1404mhz of TITAN Xp.
class GpuModelNames {
 public:
  /// @param names of configs/gpus: a model, then its memory (80gb) or what sets it apart from another of
  /// these
  explicit GpuModelNames(const std::vector<std::string>& names);

  /// The model that a name speaks of, in words of its own: "rtx 2080ti" of `NVIDIA GeForce RTX 2080 Ti` and
  /// of `rtx_2080ti`, "v100" of `Tesla V100-SXM2-32GB`; empty: none that is known.
  [[nodiscard]] std::string in(const std::string& name) const;

  /// Whether the names speak of two models that are known: a GPU of one's own may be called anything.
  [[nodiscard]] bool tell_apart(const std::string& one, const std::string& other) const;

 private:
  std::vector<std::vector<std::string>> models_;  // words
};

}  // namespace lockstep
