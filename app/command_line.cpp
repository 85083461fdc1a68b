#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/missing_options.hpp"
#include "app/notes.hpp"
#include "app/version.hpp"
#include "base/config_path.hpp"
#include "base/suggest.hpp"
#include "scenario/overrides.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

constexpr int kOk = 0;
constexpr int kInput = 2;

class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string examples = app->get_footer();
    return (examples.empty() ? "" : "\n" + examples + "\n\n") +
           CLI::Formatter::make_usage(app, std::move(name));
  }
  std::string make_footer(const CLI::App* /*app*/) const override { return {}; }
};

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

/// The command of commands that was given, as far as it was; null without one.
const CLI::App* command_given(const CLI::App& app) {
  const CLI::App* command = nullptr;
  for (auto given = app.get_subcommands(); !given.empty(); given = command->get_subcommands()) {
    command = given.front();
  }
  return command;
}

/// `calibrate fit`
std::string full_name_of(const CLI::App& app, const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  const bool is_within = parent != nullptr && parent != &app;
  return (is_within ? full_name_of(app, *parent) + " " : "") + command.get_name();
}

/// Why the command lacks a word that other commands have as an option; "" where it is none of these.
std::string option_missing(const CLI::App& app, const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (std::string why = why_without(full_name_of(app, command), word); !why.empty()) {
      return why;
    }
  }
  return {};
}

/// ` - did you mean '--x'?` for the first word that the command does not know, or what --set wants.
std::string option_meant(const CLI::App& command) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  for (const std::string& word : command.remaining()) {
    if (const std::string set = set_meant(word);
        !set.empty() && command.get_option_no_throw("--set") != nullptr) {
      return set;
    }
    const std::string meant = closest_word(word.substr(0, word.find('=')), known);
    if (!meant.empty()) {
      return " - did you mean '" + meant + "'?";
    }
  }
  return {};
}

std::string explained(const CLI::App& app, const CLI::ParseError& problem) {
  const CLI::App* command = command_given(app);
  if (command != nullptr) {
    if (std::string missing = option_missing(app, *command); !missing.empty()) {
      return missing;
    }
    return fmt::format("{}{}\n'lockstep {} --help' tells what it takes", problem.what(),
                       option_meant(*command), full_name_of(app, *command));
  }
  const auto unknown = app.remaining();
  if (!unknown.empty() && unknown.front().front() != '-') {
    return fmt::format("there is no command '{}'{}", unknown.front(),
                       did_you_mean(unknown.front(), commands_of(app)));
  }
  return fmt::format("a command is missing (one of: {}); 'lockstep --help' tells what they do",
                     fmt::join(commands_of(app), ", "));
}

std::string version_json() {
  nlohmann::ordered_json version;
  version["version"] = std::string_view{kVersion}.substr(std::string_view{kVersion}.find(' ') + 1);
  version["compiler"] = __VERSION__;
  version["configurations"] = nlohmann::ordered_json::array();
  const ConfigPath configs = ConfigPath::standard();
  for (const auto& root : configs.roots()) {
    version["configurations"].push_back(root.string());
  }
  return version.dump(2);
}

/// The words behind the program's name, last first, as CLI11 takes them.
std::vector<std::string> words_of(int count, const char* const* arguments) {
  std::vector<std::string> words{arguments + 1, arguments + count};
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return {words.rbegin(), words.rend()};
}

/// `--log` of a command and of the commands within it.
void add_log_option(CLI::App& command) {
  const auto set_all = [](const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
      try {
        set_log_level(setting);
      } catch (const std::invalid_argument& problem) {
        throw CLI::ValidationError{"--log " + setting, problem.what()};
      }
    }
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--log", set_all,
          "COMPONENT=LEVEL or LEVEL: what is told on stderr, e.g. sim=debug (docs/logging.md)")
      ->allow_extra_args(false);
  for (CLI::App* within : command.get_subcommands({})) {
    add_log_option(*within);
  }
}

/// `-q` of a command that does not declare it, and of those within it.
void add_quiet_option(CLI::App& command) {
  const std::vector<CLI::App*> within = command.get_subcommands({});
  for (CLI::App* one : within) {
    add_quiet_option(*one);
  }
  if (within.empty() && command.get_option_no_throw("--quiet") == nullptr) {
    command.add_flag_function(
        "-q,--quiet", [](std::int64_t /*count*/) {}, "nothing on stderr but errors");
  }
}

/// Obeys `--quiet` of the command that was given.
void obey_quiet(const CLI::App& app) {
  const CLI::App* const command = command_given(app);
  const CLI::Option* const quiet = command == nullptr ? nullptr : command->get_option_no_throw("--quiet");
  if (quiet != nullptr && quiet->count() > 0) {
    be_quiet();
  }
}

}  // namespace

void show_examples_first(CLI::App& app) {
  app.formatter(std::make_shared<ExamplesFirst>());
}

void add_version(CLI::App& app) {
  const auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "with --version: as JSON, with what it is built of");
  app.set_version_flag("--version", [as_json] { return *as_json ? version_json() : std::string{kVersion}; });
}

int parse_command_line(CLI::App& app, int count, const char* const* arguments) {
  for (CLI::App* command : app.get_subcommands({})) {
    add_quiet_option(*command);
    add_log_option(*command);
  }
  try {
    app.parse(words_of(count, arguments));
    obey_quiet(app);
    return kOk;
  } catch (const CLI::Success& asked) {  // help, version
    return app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    fmt::print(stderr, "{}\n", explained(app, problem));
    return kInput;
  }
}

}  // namespace lockstep
