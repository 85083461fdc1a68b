#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace lockstep {

/// Serves a folder of results on 127.0.0.1 until Ctrl-C. @throws InputError
int view_command(const std::string& folder, std::uint16_t port);

/// Registers `lockstep view`; when it was called, @p action runs it.
void add_view_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
