#include "scenario/scenario_file.hpp"

namespace lockstep {

template ParameterType type_of<ScenarioSpec>();
std::optional<std::string> ScenarioSpec::place_of(const std::string& key) {
  return lockstep::place_of(type_of<ScenarioSpec>(), key);
}

template ScenarioSpec read_document<ScenarioSpec>(const YamlDocument& document, const ConfigPath& configs);

}  // namespace lockstep
