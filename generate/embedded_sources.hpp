#pragma once

#include <string_view>
#include <vector>

namespace lockstep::generate {

/// A file of this project that emitted programs are made of.
struct EmbeddedSource {
  std::string_view path;  ///< from the project's root
  std::string_view text;
};

/// All of generate/runtime/ and calibration/measure/kernels/, as they were when this program was built.
[[nodiscard]] const std::vector<EmbeddedSource>& embedded_sources();

}  // namespace lockstep::generate
