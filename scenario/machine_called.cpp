#include "scenario/machine_called.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <stdexcept>
#include <type_traits>

#include "base/config_path.hpp"
#include "base/parameters.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/scenario.hpp"
#include "topology/degrade.hpp"
#include "topology/failure.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Passes on to @p Visitor the keys of a scenario that say what the machine is. The others must be keys of a
/// scenario, and their values are not looked at.
template <class Visitor>
class MachineKeys {
 public:
  /// @param unread takes the values of the others
  MachineKeys(Visitor& visitor, YamlNode& unread) : visitor_{visitor}, unread_{unread} {}

  template <class Field>
  void required(const char* key, Field& field, const char* meaning) {
    if constexpr (kIsOfMachine<Field>) {
      visitor_.required(key, field, meaning);
    } else {
      visitor_.optional(key, unread_, YamlNode{}, meaning);
    }
  }

  template <class Field>
  void optional(const char* key, Field& field, std::type_identity_t<Field> fallback, const char* meaning) {
    if constexpr (kIsOfMachine<Field>) {
      visitor_.optional(key, field, std::move(fallback), meaning);
    } else {
      visitor_.optional(key, unread_, YamlNode{}, meaning);
    }
  }

 private:
  template <class Field>
  static constexpr bool kIsOfMachine =
      std::same_as<Field, Named<ClusterSpec>> || std::same_as<Field, VariationSpec>;

  Visitor& visitor_;
  YamlNode& unread_;
};

/// A scenario of which the machine is wanted, whatever else it has or lacks.
struct ShownMachine {
  ScenarioSpec scenario;
  YamlNode unread;

  template <class Visitor>
  static void describe(Visitor& key, ShownMachine& shown) {
    MachineKeys<Visitor> keys{key, shown.unread};
    ScenarioSpec::describe(keys, shown.scenario);
  }
};

Fabric machine_of_scenario(const YamlDocument& document, const ConfigPath& configs) {
  const auto scenario = read_document<ShownMachine>(document, configs).scenario;
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

/// Lists the keys of a Spec.
class KeyLister {
 public:
  template <class Field>
  void required(const char* key, Field& /*field*/, const char* /*meaning*/) {
    keys.emplace_back(key);
  }
  template <class Field>
  void optional(const char* key, Field& /*field*/, const std::type_identity_t<Field>& /*fallback*/,
                const char* /*meaning*/) {
    keys.emplace_back(key);
  }

  std::vector<std::string> keys;
};

template <class Spec>
std::vector<std::string> keys_of() {
  KeyLister lister;
  Spec spec{};
  Spec::describe(lister, spec);
  return std::move(lister.keys);
}

/// A document with a key that only scenarios have, and none that only clusters have.
bool is_scenario(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::Mapping) {
    return false;
  }
  static const std::vector<std::string> of_scenario = keys_of<ScenarioSpec>(),
                                        of_cluster = keys_of<ClusterSpec>();
  const auto has_other_key = [&](const std::vector<std::string>& keys,
                                 const std::vector<std::string>& others) {
    return std::ranges::any_of(root.entries, [&](const YamlEntry& entry) {
      return std::ranges::count(keys, entry.key) > 0 && std::ranges::count(others, entry.key) == 0;
    });
  };
  return root.find("cluster") != nullptr ||
         (has_other_key(of_scenario, of_cluster) && !has_other_key(of_cluster, of_scenario));
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
  return is_scenario(document.root()) ? machine_of_scenario(document, configs)
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
  return is_file && is_scenario(YamlDocument::from_file(text).root()) ? fs::path{text} : fs::path{};
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
