#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"

namespace lockstep::importing {

/// Names of the frameworks whose launch flags can be written.
[[nodiscard]] std::span<const std::string_view> launch_frameworks();

/// The command that starts a scenario's job, with the flags of a framework; what the framework has no flag
/// for stands above it in lines that begin with `#`.
/// @throws InputError for another framework, a scenario that trains no transformer, or a broken one
[[nodiscard]] std::string launch_text(const std::string& framework, const YamlDocument& scenario,
                                      const ConfigPath& configs);

/// @throws InputError for a framework that launch_text() does not know
void expect_framework(const std::string& framework);

}  // namespace lockstep::importing
