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

/// What a configuration is: its own name if that is another one, else where its figures come from.
std::string title(const std::filesystem::path& file, const std::string& name) {
  constexpr std::size_t kLongest = 96;
  try {
    const YamlDocument document = YamlDocument::from_file(file);
    for (const char* key : {"name", "title", "source"}) {
      const YamlEntry* entry = document.root().find(key);
      if (entry != nullptr && !entry->value.scalar.empty() && entry->value.scalar != name) {
        const std::string& text = entry->value.scalar;
        return text.size() <= kLongest ? text : text.substr(0, text.rfind(' ', kLongest)) + " ...";
      }
    }
    return "";
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
      text += line(name, asked.empty() ? title(file, name) : asked);
    }
  } else {
    for (const std::string& name : configs.names(kind)) {
      text += line(name, title(configs.find(kind, name), name));
    }
  }
  return text;
}

}  // namespace

std::string list_text(const ConfigPath& configs, const std::string& kind) {
  if (const std::string missing = configs.missing_roots(); !missing.empty()) {
    throw InputError{{"list"}, "there is nothing to list" + missing};
  }
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

std::string names_text(const ConfigPath& configs, const std::string& kind) {
  std::string text;
  for (const std::string& name : kind == kScenarios ? configs.scenarios() : configs.names(kind)) {
    text += name + "\n";
  }
  return text;
}

void add_list_command(CLI::App& app, std::function<int()>& action) {
  struct Wanted {
    std::string kind;
    bool names = false;
  };
  const auto wanted = std::make_shared<Wanted>();
  CLI::App* command = app.add_subcommand("list", "name the shipped scenarios and configurations");
  command->footer(
      "examples:\n"
      "  lockstep list\n"
      "  lockstep list scenarios");
  CLI::Option* kind =
      command->add_option("KIND", wanted->kind, "only these: scenarios, gpus, clusters, ..., importers");
  command->add_flag("--names", wanted->names, "names alone, one a line, for scripts")->needs(kind);
  command->callback([wanted, &action] {
    action = [wanted] {
      const ConfigPath configs = ConfigPath::standard();
      const std::string text = list_text(configs, wanted->kind);  // refuses an unknown kind
      fmt::print("{}", wanted->names ? names_text(configs, wanted->kind) : text);
      return 0;
    };
  });
}

}  // namespace lockstep
