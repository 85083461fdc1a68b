#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// The place of the key in a document, or of the nearest mapping around it that the document has.
[[nodiscard]] SourceLocation location_of(const YamlDocument& document, const std::string& key_path);

/// A message of a layer that knows no files, at the key of the scenario that it is about.
template <class Build>
auto at_key(const YamlDocument& document, const std::string& key, Build build) {
  try {
    return build();
  } catch (const InputError&) {
    throw;
  } catch (const std::invalid_argument& problem) {
    throw InputError{location_of(document, key), fmt::format("{}: {}", key, problem.what())};
  }
}

}  // namespace lockstep
