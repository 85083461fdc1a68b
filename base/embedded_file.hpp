#pragma once

#include <string_view>

namespace lockstep {

/// A file of the source tree, as it was when this program was built (cmake/embedded_files.cmake).
struct EmbeddedFile {
  std::string_view path;  ///< from the project's root
  std::string_view text;
};

}  // namespace lockstep
