#include "app/plans/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "scenario/opened_scenario.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool has_configurations_beside(const fs::path& scenario) {
  const auto kinds = ConfigPath::standard().kinds();
  return std::ranges::any_of(
      kinds, [&](const std::string& kind) { return fs::is_directory(scenario.parent_path() / kind); });
}

/// Entries of @p now that @p before has not, or has otherwise.
YamlNode difference(const YamlNode& before, const YamlNode& now) {
  YamlNode changed = yaml_node(YamlNode::Kind::Mapping, {});
  for (const YamlEntry& entry : now.entries) {
    const YamlEntry* old = before.find(entry.key);
    const bool both_map = old != nullptr && old->value.kind == YamlNode::Kind::Mapping &&
                          entry.value.kind == YamlNode::Kind::Mapping;
    if (both_map) {
      if (YamlNode inner = difference(old->value, entry.value); !inner.entries.empty()) {
        changed.entries.push_back({entry.key, {}, std::move(inner)});
      }
    } else if (old == nullptr || flow_text(old->value) != flow_text(entry.value)) {
      changed.entries.push_back(entry);
    }
  }
  return changed;
}

/// Keys of the plan that the scenario says and the plan leaves at their default: they are said again.
void say_defaults(const YamlNode& before, const YamlNode& now, const ParallelismSpec& plan,
                  YamlNode& changed) {
  const YamlEntry* old = before.find("parallelism");
  const YamlEntry* kept = now.find("parallelism");
  if (old == nullptr || old->value.kind != YamlNode::Kind::Mapping) {
    return;
  }
  const YamlNode all = yaml_of(plan);
  if (changed.find("parallelism") == nullptr) {
    changed.entries.push_back({"parallelism", {}, yaml_node(YamlNode::Kind::Mapping, {})});
  }
  for (const YamlEntry& entry : old->value.entries) {
    const YamlEntry* value = all.find(entry.key);
    if (value != nullptr && (kept == nullptr || kept->value.find(entry.key) == nullptr)) {
      changed.find("parallelism")->value.entries.push_back(*value);
    }
  }
}

}  // namespace

std::string plan_file_text(const PlanEvaluator& evaluator, const PlanCandidate& candidate,
                           const fs::path& scenario) {
  if (scenario == kStandardInput || has_configurations_beside(scenario)) {
    return evaluator.effective(candidate);
  }
  const YamlNode before = YamlDocument::from_file(scenario).root();
  const YamlDocument document = evaluator.document_of(candidate);
  YamlNode changed = difference(before, document.root());
  say_defaults(before, document.root(), evaluator.parallelism_of(candidate), changed);
  return fmt::format("# {}\ninclude: {}\n{}", in_words(candidate),
                     quoted_if_needed(fs::weakly_canonical(scenario).string()),
                     block_text(changed, [](const YamlNode& /*node*/) { return std::string{}; }));
}

}  // namespace lockstep
