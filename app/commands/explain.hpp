#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lockstep {

/// The documentation of a parameter. An empty @p key: all parameters of a kind of file. An empty @p kind: the
/// first of app/file_kinds.hpp that has the key.
/// @throws InputError for an unknown key, with the one that was probably meant, or an unknown kind
std::string explain_text(const std::string& key, const std::string& kind);

/// Registers `lockstep explain`; when it was called, @p action runs it.
void add_explain_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
