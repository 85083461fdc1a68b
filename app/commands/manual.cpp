#include "app/commands/manual.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "app/manual.hpp"
#include "app/version.hpp"

namespace lockstep {

void add_manual_commands(CLI::App& app, std::function<int()>& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "print a completion script for a shell");
  completion->footer(
      "examples:\n"
      "  lockstep completion bash > ~/.local/share/bash-completion/completions/lockstep\n"
      "  lockstep completion fish > ~/.config/fish/completions/lockstep.fish");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([shell, &app, &action] {
    action = [shell, &app] {
      fmt::print("{}", completion_script(app, *shell));
      return 0;
    };
  });
  CLI::App* manual = app.add_subcommand("manual", "print the manual page, for man");
  manual->footer(
      "examples:\n"
      "  lockstep manual | man -l -");
  manual->callback([&app, &action] {
    action = [&app] {
      fmt::print("{}", manual_page(app, kVersion));
      return 0;
    };
  });
}

}  // namespace lockstep
