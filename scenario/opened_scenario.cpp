#include "scenario/opened_scenario.hpp"

#include <utility>

namespace lockstep {

OpenedScenario open_scenario(const std::string& scenario, const std::vector<Override>& overrides) {
  const auto standard = ConfigPath::standard();
  auto path = standard.find_scenario(scenario);
  ConfigPath configs = standard.beside(path.parent_path());
  YamlDocument document = YamlDocument::from_file(path);
  for (const Override& given : overrides) {
    document.set(given.key_path, given.value);
  }
  return {std::move(path), std::move(configs), std::move(document)};
}

}  // namespace lockstep
