#include "app/manual.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace lockstep {
namespace {

/// Text for troff: no line begins with a control character, and backslashes and hyphens stay what they are.
std::string troff(std::string_view text) {
  std::string made;
  bool at_start = true;
  for (const char letter : text) {
    if (at_start && (letter == '.' || letter == '\'')) {
      made += "\\&";
    }
    made += letter == '\\' ? "\\e" : letter == '-' ? "\\-" : std::string(1, letter);
    at_start = letter == '\n';
  }
  return made;
}

struct Command {
  std::string name;  ///< `calibrate fit`, "" for the program itself
  const CLI::App* app = nullptr;
};

void collect(const CLI::App& app, const std::string& name, std::vector<Command>& commands) {
  commands.push_back({name, &app});
  for (const CLI::App* below : app.get_subcommands({})) {
    collect(*below, name.empty() ? below->get_name() : name + " " + below->get_name(), commands);
  }
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  collect(app, "", commands);
  return commands;
}

std::string option_entry(const CLI::Option& option) {
  const bool takes_value = option.get_items_expected_max() > 0;
  return fmt::format(
      ".TP\n\\fB{}\\fR{}\n{}\n", troff(option.get_name(true)),
      takes_value && !option.get_positional() ? " \\fI" + troff(option.get_type_name()) + "\\fR" : "",
      troff(option.get_description()));
}

std::string command_section(const Command& command) {
  std::string text =
      fmt::format(".SS lockstep {}\n{}\n", troff(command.name), troff(command.app->get_description()));
  for (const CLI::Option* option : command.app->get_options()) {
    text += option_entry(*option);
  }
  if (const std::string examples = command.app->get_footer(); !examples.empty()) {
    text += fmt::format(".PP\n.nf\n{}\n.fi\n", troff(examples));
  }
  return text;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

/// Words that may follow a command: commands below it and its options.
std::string words_after(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* below : app.get_subcommands({})) {
    words.push_back(below->get_name());
  }
  const auto options = options_of(app);
  words.insert(words.end(), options.begin(), options.end());
  return fmt::format("{}", fmt::join(words, " "));
}

bool takes_scenario(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(), [](const CLI::Option* option) {
    return option->get_positional() && option->get_name().starts_with("SCENARIO");
  });
}

/// The function that bash and zsh (through bashcompinit) call: it finds the longest command among the words.
std::string bash_completion(const CLI::App& app) {
  std::string words, scenarios;
  for (const Command& command : commands_of(app)) {
    words += fmt::format("    [{}]=\"{}\"\n", command.name.empty() ? "_" : "'" + command.name + "'",
                         words_after(*command.app));
    if (takes_scenario(*command.app)) {
      scenarios += command.name + "|";
    }
  }
  scenarios = scenarios.empty() ? "-" : scenarios.substr(0, scenarios.size() - 1);
  return fmt::format(R"SH(_lockstep() {{
  local -A after=(
{}  )
  local word command= current=${{COMP_WORDS[COMP_CWORD]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ -n ${{after["${{command:+$command }}$word"]+set}} ]] && command="${{command:+$command }}$word"
  done
  local choices=${{after["${{command:-_}}"]}}
  if [[ $current != -* ]]; then
    case $command in
      {}) choices+=" $(lockstep list scenarios --names 2>/dev/null)" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$choices" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _lockstep lockstep
)SH",
                     words, scenarios);
}

std::string fish_quoted(std::string_view text) {
  std::string made = "'";
  for (const char letter : text) {
    made += letter == '\'' || letter == '\\' ? std::string{'\\', letter} : std::string(1, letter);
  }
  return made + "'";
}

std::string fish_completion(const CLI::App& app) {
  std::string text = "complete -c lockstep -n __fish_use_subcommand -l help -d 'what it does'\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string name = command->get_name();
    text += fmt::format("complete -c lockstep -n __fish_use_subcommand -a {} -d {}\n", name,
                        fish_quoted(command->get_description()));
    for (const CLI::App* below : command->get_subcommands({})) {
      text += fmt::format("complete -c lockstep -n '__fish_seen_subcommand_from {}' -a {} -d {}\n", name,
                          below->get_name(), fish_quoted(below->get_description()));
    }
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& known : option->get_lnames()) {
        text += fmt::format("complete -c lockstep -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", name,
                            known, fish_quoted(option->get_description()));
      }
    }
  }
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH LOCKSTEP 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\nlockstep \\- {}\n.SH SYNOPSIS\n"
      ".B lockstep\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH EXAMPLES\n.nf\n{}\n.fi\n.SH COMMANDS\n",
      troff(version), troff(app.get_description()), troff(app.get_footer()));
  for (const Command& command : commands_of(app)) {
    if (!command.name.empty()) {
      text += command_section(command);
    }
  }
  return text +
         ".SH EXIT STATUS\n0: done. 1: a fault of the program. 2: a mistake in what was given. 3: ranks wait "
         "for "
         "each other. 4: out of GPU memory. 5: out of this machine's memory.\n.SH "
         "ENVIRONMENT\n.TP\n\\fBLOCKSTEP_HOME\\fR\n"
         "the folder that holds configs/ and scenarios/, in place of those that were installed\n";
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") {
    return bash_completion(app);
  }
  if (shell == "zsh") {
    return "#compdef lockstep\nautoload -U +X bashcompinit && bashcompinit\n" + bash_completion(app);
  }
  if (shell == "fish") {
    return fish_completion(app);
  }
  throw std::invalid_argument{fmt::format("there is no shell '{}' (one of: bash, zsh, fish)", shell)};
}

}  // namespace lockstep
