#include "scenario/opened_scenario.hpp"

#include <iostream>
#include <iterator>
#include <utility>

namespace lockstep {

YamlDocument read_scenario(const std::filesystem::path& path) {
  if (path != kStandardInput) {
    return YamlDocument::from_file(path);
  }
  const std::string text{std::istreambuf_iterator<char>{std::cin}, {}};
  return YamlDocument::from_text(text, kStandardInput);
}

std::filesystem::path scenario_path(const std::string& scenario, const ConfigPath& configs) {
  return scenario == "-" ? std::filesystem::path{kStandardInput} : configs.find_scenario(scenario);
}

OpenedScenario open_scenario(const std::string& scenario, const std::vector<Override>& overrides) {
  const auto standard = ConfigPath::standard();
  auto path = scenario_path(scenario, standard);
  ConfigPath configs = standard.beside(path.parent_path());
  YamlDocument document = read_scenario(path);
  for (const Override& given : overrides) {
    document.set(given.key_path, given.value);
  }
  return {std::move(path), std::move(configs), std::move(document)};
}

}  // namespace lockstep
