#pragma once

#include <vector>

#include "base/embedded_file.hpp"

namespace lockstep {

/// All of app/report/web/: style and scripts of report.html.
[[nodiscard]] const std::vector<EmbeddedFile>& web_files();

}  // namespace lockstep
