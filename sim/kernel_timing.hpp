#pragma once

#include <cstdint>

#include "base/provenance.hpp"

namespace lockstep {

/// How a kernel of a Program runs on one GPU model.
struct KernelTiming {
  enum class Kind : std::uint8_t {
    Compute,   ///< occupies its stream for `seconds`
    Transfer,  ///< a copy over PCIe: `seconds` when alone, on a copy engine and the fabric's links
    HostRows,  ///< a kernel that reads or writes host memory itself: `seconds` when alone, on the links
  };
  double seconds = 0;
  double band = 0;         ///< relative, from the kernel model
  bool in_range = true;    ///< asked within the range that the model was checked in
  bool fell_back = false;  ///< a network was asked outside its training, and the formula answered
  Provenance provenance = Provenance::Measured;  ///< of the model's constants on this GPU
  Kind kind = Kind::Compute;

  [[nodiscard]] bool crosses_links() const { return kind != Kind::Compute; }
};

}  // namespace lockstep
