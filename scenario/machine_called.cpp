#include "scenario/machine_called.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/scenario.hpp"
#include "scenario/scenario_file.hpp"
#include "topology/degrade.hpp"
#include "topology/failure.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

Fabric machine_of_scenario(const YamlDocument& document, const ConfigPath& configs) {
  const auto scenario = read_document<ScenarioSpec>(document, configs);
  Fabric fabric = scenario.cluster->fabric();
  try {
    if (!scenario.vary.links.empty()) {
      fabric = with_faults(fabric, scenario.vary.links);
    }
    return scenario.vary.failed.empty() ? fabric : without_failed(fabric, scenario.vary.failed);
  } catch (const std::invalid_argument& problem) {
    throw InputError{document.root().find("vary")->value.at, fmt::format("vary: {}", problem.what())};
  }
}

/// A cluster's keys as its own document.
Fabric machine_of_keys(const YamlDocument& document, const ConfigPath& configs) {
  return read_document<ClusterSpec>(document, configs).fabric();
}

/// A node's keys stand in a file of configs/nodes: `gpu`, and no `nodes`.
bool is_node(const YamlNode& root) {
  return root.find("gpu") != nullptr && root.find("nodes") == nullptr && root.find("vertices") != nullptr;
}

Fabric machine_in(const YamlDocument& document, const ConfigPath& configs) {
  return document.root().find("cluster") != nullptr ? machine_of_scenario(document, configs)
                                                    : machine_of_keys(document, configs);
}

/// Standard input: a scenario or a cluster.
Fabric machine_of_input(const std::vector<Override>& overrides, const ConfigPath& configs) {
  YamlDocument document = read_scenario(kStandardInput);
  for (const Override& given : overrides) {
    document.set(given.key_path, given.value);
  }
  return machine_in(document, configs.beside("."));
}

bool is_name_of_scenario(const std::string& text, const ConfigPath& configs) {
  const auto has = [&](const std::vector<std::string>& names) { return std::ranges::count(names, text) > 0; };
  return has(configs.scenarios()) && !has(configs.names(ClusterSpec::kConfigKind)) &&
         !has(configs.names(NodeSpec::kConfigKind));
}

/// The file of a scenario that @p text names; empty where it names something else.
fs::path scenario_file(const std::string& text, const ConfigPath& configs) {
  std::error_code absent;
  if (fs::is_directory(text, absent) || is_name_of_scenario(text, configs)) {
    return configs.find_scenario(text);
  }
  const bool is_file = is_path(text) && fs::is_regular_file(text, absent);
  return is_file && YamlDocument::from_file(text).root().find("cluster") != nullptr ? fs::path{text}
                                                                                    : fs::path{};
}

}  // namespace

Fabric machine_called(const std::string& text, const std::vector<Override>& overrides) {
  const ConfigPath configs = ConfigPath::standard();
  if (text == "-") {
    return machine_of_input(overrides, configs);
  }
  if (!scenario_file(text, configs).empty()) {
    const OpenedScenario scenario = open_scenario(text, overrides);
    return machine_of_scenario(scenario.document, scenario.configs);
  }
  if (!overrides.empty()) {
    throw std::invalid_argument{
        fmt::format("--set changes a value of a scenario, and '{}' is a machine", text)};
  }
  if (text.find_first_not_of(" \n") != std::string::npos && text[text.find_first_not_of(" \n")] == '{') {
    return machine_in(YamlDocument::from_text(text, "CLUSTER"), configs.beside("."));
  }
  std::error_code absent;
  if (is_path(text) && fs::is_regular_file(text, absent) && is_node(YamlDocument::from_file(text).root())) {
    YamlDocument cluster = YamlDocument::from_text("{ nodes: [] }", "CLUSTER");
    YamlNode nodes = yaml_node(YamlNode::Kind::Sequence, {});
    nodes.items.push_back(yaml_node(YamlNode::Kind::Scalar, {}, text));
    cluster.set("nodes", std::move(nodes));
    return machine_of_keys(cluster, configs.beside("."));
  }
  return read_cluster(text).fabric();
}

}  // namespace lockstep
