#pragma once

#include <string>
#include <vector>

#include "base/parameter_type.hpp"

namespace lockstep {

/// A kind of file that users write: what `lockstep explain` and `lockstep schema` tell about.
struct FileKind {
  std::string kind;   ///< folder in configs/, or "scenario"
  std::string title;  ///< "a GPU model"
  ParameterType (*type)();
};

/// One row a kind; the first is the one meant when none is named.
const std::vector<FileKind>& file_kinds();

/// @throws InputError with the kinds there are
const FileKind& file_kind(const std::string& command, const std::string& kind);

}  // namespace lockstep
