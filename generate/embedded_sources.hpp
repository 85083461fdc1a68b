#pragma once

#include <vector>

#include "base/embedded_file.hpp"

namespace lockstep::generate {

/// The files that emitted programs are made of: all of generate/runtime/ and calibration/measure/kernels/.
[[nodiscard]] const std::vector<EmbeddedFile>& embedded_sources();

}  // namespace lockstep::generate
