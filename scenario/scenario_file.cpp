#include "scenario/scenario_file.hpp"

namespace lockstep {

template ParameterType type_of<ScenarioSpec>();
template ScenarioSpec read_document<ScenarioSpec>(const YamlDocument& document, const ConfigPath& configs);

}  // namespace lockstep
