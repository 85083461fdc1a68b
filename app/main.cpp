/// @file
/// `lockstep`: what did the user ask? Exit codes: 0 ok, 1 our bug, 2 input, 3 stalled, 4 out of GPU memory.

#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "app/commands/explain.hpp"
#include "app/commands/list.hpp"
#include "app/commands/run.hpp"
#include "app/commands/schema.hpp"
#include "app/commands/topology.hpp"
#include "app/commands/validate.hpp"
#include "app/version.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "sim/stall.hpp"

namespace {

using namespace lockstep;

constexpr int kOk = 0;
constexpr int kBug = 1;
constexpr int kInput = 2;
constexpr int kStalled = 3;

/// CLI11 names what it does not know; people want to know what they meant.
std::string meant(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (command->parsed()) {
      known.clear();
      for (const CLI::Option* option : command->get_options()) {
        known.push_back("--" + option->get_single_name());
      }
      break;
    }
  }
  const std::string word = closest_word(typed, known);
  return word.empty() ? "" : fmt::format(" - did you mean '{}'?", word);
}

int parse(CLI::App& app, int count, char** arguments) {
  try {
    app.parse(count, arguments);
    return kOk;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& problem) {
    std::string hint;
    for (int i = 1; i < count; ++i) {
      const std::string word = arguments[i];
      if (std::string{problem.what()}.find(word) != std::string::npos) {
        hint = meant(app, word.substr(0, word.find('=')));
        break;
      }
    }
    fmt::print(stderr, "{}{}\n", problem.what(), hint);
    return kInput;
  }
}

}  // namespace

int main(int count, char** arguments) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("lockstep"));  // stdout is for results
  spdlog::set_pattern("%^%l%$: %v");
  CLI::App app{"Predicts the time of a training step on many GPUs, and shows why."};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  std::function<int()> action;
  add_run_command(app, action);
  add_validate_command(app, action);
  add_topology_command(app, action);
  add_list_command(app, action);
  add_explain_command(app, action);
  add_schema_command(app, action);
  if (const int failed = parse(app, count, arguments); failed != kOk || !action) {
    return failed;
  }
  try {
    return action();
  } catch (const InputError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kInput;
  } catch (const StallError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kStalled;
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kInput;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lockstep has a bug, please report it: {}\n", problem.what());
    return kBug;
  }
}
