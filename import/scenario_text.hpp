#pragma once

#include <string>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// The scenario, or the cluster of a machine alone, as a document whose values keep the places in the files
/// that they come from.
[[nodiscard]] YamlDocument document_of(const Draft& draft);

/// It as YAML: each value with its origin behind it, and above all what has no equivalent.
[[nodiscard]] std::string text_of(const Draft& draft);

/// Lines for people on all that the files say and no key says.
[[nodiscard]] std::string remarks_text(const Draft& draft);

/// Reads it as `lockstep run` and `lockstep topology` do.
/// @throws InputError with the places in the user's files
void check(const Draft& draft, const ConfigPath& configs);

}  // namespace lockstep::importing
