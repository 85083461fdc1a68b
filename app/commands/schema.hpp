#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lockstep {

/// The JSON Schema of one kind of file, the first of app/file_kinds.hpp where @p kind is empty.
/// @throws InputError for an unknown kind
std::string schema_text(const std::string& kind);

/// Registers `lockstep schema`; when it was called, @p action runs it.
void add_schema_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
