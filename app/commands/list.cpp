#include "app/commands/list.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <fstream>
#include <memory>

#include "base/suggest.hpp"
#include "base/yaml_document.hpp"
#include "import/recognisers.hpp"

namespace lockstep {
namespace {

constexpr const char* kScenarios = "scenarios";
constexpr const char* kImporters = "importers";

/// The `name:` of a file, "" where that is the file's own name or cannot be read. A list is no place to
/// complain of a broken file.
std::string own_name(const std::filesystem::path& file, const std::string& name) {
  try {
    const YamlDocument document = YamlDocument::from_file(file);
    const YamlEntry* entry = document.root().find("name");
    return entry == nullptr || entry->value.scalar == name ? "" : entry->value.scalar;
  } catch (const InputError&) {
    return "(cannot be read)";
  }
}

/// The question that a scenario answers: the heading of the README beside it, "" where there is none.
std::string question(const std::filesystem::path& scenario) {
  std::ifstream readme{scenario.parent_path() / "README.md"};
  std::string heading;
  std::getline(readme, heading);
  return heading.starts_with("# ") ? heading.substr(2) : "";
}

std::string line(const std::string& name, const std::string& title) {
  return title.empty() ? fmt::format("  {}\n", name) : fmt::format("  {:<24} {}\n", name, title);
}

std::string section(const ConfigPath& configs, const std::string& kind) {
  std::string text = kind + ":\n";
  if (kind == kImporters) {
    for (const importing::Recogniser& row : importing::recognisers()) {
      text += line(std::string{row.name}, std::string{row.title});
    }
  } else if (kind == kScenarios) {
    for (const std::string& name : configs.scenarios()) {
      const auto file = configs.find_scenario(name);
      const std::string asked = question(file);
      text += line(name, asked.empty() ? own_name(file, name) : asked);
    }
  } else {
    for (const std::string& name : configs.names(kind)) {
      text += line(name, own_name(configs.find(kind, name), name));
    }
  }
  return text;
}

}  // namespace

std::string list_text(const ConfigPath& configs, const std::string& kind) {
  std::vector<std::string> kinds = configs.kinds();
  kinds.insert(kinds.begin(), kScenarios);
  if (!kind.empty()) {
    kinds.emplace_back(kImporters);  // of files that do not ship: named only when asked for
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      throw InputError{{"list"}, "there is no kind '" + kind + "'" + did_you_mean(kind, kinds)};
    }
    return section(configs, kind);
  }
  std::string text;
  for (const std::string& each : kinds) {
    text += (text.empty() ? "" : "\n") + section(configs, each);
  }
  return text;
}

void add_list_command(CLI::App& app, std::function<int()>& action) {
  const auto kind = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "name the shipped scenarios and configurations");
  command->footer(
      "examples:\n"
      "  lockstep list\n"
      "  lockstep list scenarios");
  command->add_option("KIND", *kind, "only these: scenarios, gpus, clusters, ..., importers");
  command->callback([kind, &action] {
    action = [kind] {
      fmt::print("{}", list_text(ConfigPath::standard(), *kind));
      return 0;
    };
  });
}

}  // namespace lockstep
