#include "app/commands/manual.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "app/answer.hpp"
#include "app/manual.hpp"
#include "app/version.hpp"

namespace lockstep {

void add_manual_commands(CLI::App& app, std::function<int()>& action) {
  const auto shell = std::make_shared<std::string>();
  const auto answer = std::make_shared<AnswerOptions>();
  CLI::App* completion = app.add_subcommand("completion", "print a completion script for a shell");
  completion->footer(
      "examples:\n"
      "  lockstep completion bash > ~/.local/share/bash-completion/completions/lockstep\n"
      "  lockstep completion fish > ~/.config/fish/completions/lockstep.fish");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  add_output_option(*completion, *answer);
  completion->callback([shell, answer, &app, &action] {
    action = [shell, answer, &app] {
      give_answer(*answer, completion_script(app, *shell));
      return 0;
    };
  });
  CLI::App* manual = app.add_subcommand("manual", "print the manual page, for man");
  manual->footer(
      "examples:\n"
      "  lockstep manual | man -l -");
  add_output_option(*manual, *answer);
  manual->callback([answer, &app, &action] {
    action = [answer, &app] {
      give_answer(*answer, manual_page(app, kVersion));
      return 0;
    };
  });
}

}  // namespace lockstep
