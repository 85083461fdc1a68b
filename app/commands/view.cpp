#include "app/commands/view.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <memory>

#include "app/view/loopback_server.hpp"

namespace lockstep {
namespace {

struct ViewOptions {
  std::string folder = "lockstep-out";
  std::uint16_t port = 0;
};

}  // namespace

int view_command(const std::string& folder, std::uint16_t port) {
  LoopbackServer server{StaticFiles{folder}, port};
  fmt::print("{} is at http://127.0.0.1:{}/  (Ctrl-C ends it)\n", folder, server.port());
  (void)std::fflush(stdout);
  server.serve();
}

void add_view_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ViewOptions>();
  CLI::App* command =
      app.add_subcommand("view", "look at a folder of results in a browser, on this machine only");
  command->footer(
      "examples:\n"
      "  lockstep view lockstep-out/gpt2_8xa100                   its report.html\n"
      "  lockstep view                                            all of lockstep-out/");
  command->add_option("DIR", options->folder, "folder of results")->capture_default_str();
  command->add_option("--port", options->port, "port on 127.0.0.1 (default: any that is free)");
  command->callback(
      [options, &action] { action = [options] { return view_command(options->folder, options->port); }; });
}

}  // namespace lockstep
