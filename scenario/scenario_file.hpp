#pragma once

/// @file
/// The reader of a scenario and the list of its parameters, instantiated once, in scenario_file.cpp: both
/// walk through the hundreds of parameters below a scenario, which took every file that asked for one some
/// seconds to compile.

#include "scenario/scenario.hpp"
#include "base/parameter_type.hpp"
#include "base/yaml_reader.hpp"

namespace lockstep {

extern template ParameterType type_of<ScenarioSpec>();
extern template ScenarioSpec read_document<ScenarioSpec>(const YamlDocument& document,
                                                         const ConfigPath& configs);

}  // namespace lockstep
