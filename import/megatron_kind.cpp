#include "import/megatron_kind.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/yaml_text.hpp"

namespace lockstep::importing {
namespace {

/// A kind of model and all that names it in a command.
struct KindRow {
  std::string_view name;
  bool is_modelled;
  std::string_view script;                      ///< part of the script's name
  std::array<std::string_view, 3> options;      ///< beginnings of arguments; "": none
  std::array<std::string_view, 3> values = {};  ///< parts of the values of kSpecs
};

/// Arguments whose values name the layers.
constexpr auto kSpecs =
    std::to_array<std::string_view>({"spec", "export-model-type", "model-provider", "language-model-type"});

constexpr auto kKinds = std::to_array<KindRow>({
    {"hybrid of Mamba and attention",
     false,
     "hybrid",
     {"hybrid-", "mamba-", "is-hybrid-model"},
     {"hybrid", "Hybrid", "nemotron5-hybrid"}},
    {"Mamba", false, "mamba", {}, {"mamba", "Mamba", ""}},
    {"T5", true, "t5", {"encoder-num-layers", "decoder-num-layers", ""}, {}},
    {"RETRO", false, "retro", {"retro-", "", ""}, {}},
    {"vision", false, "vision", {}, {}},
});

bool has_option(const KindRow& row, std::string_view key) {
  return std::ranges::any_of(
      row.options, [&](std::string_view begin) { return !begin.empty() && key.starts_with(begin); });
}

bool has_value(const KindRow& row, const Setting& setting) {
  if (std::ranges::count(kSpecs, setting.key) == 0) {
    return false;
  }
  const std::string value = flow_text(setting.value);
  return std::ranges::any_of(row.values, [&](std::string_view part) {
    return !part.empty() && value.find(part) != std::string::npos;
  });
}

}  // namespace

std::optional<NamedKind> named_kind(const Settings& settings, const Source& script) {
  for (const KindRow& row : kKinds) {
    for (const Setting* setting : settings.unused()) {
      if (has_option(row, setting->key) || has_value(row, *setting)) {
        return NamedKind{source_of(*setting), std::string{row.name}, row.is_modelled};
      }
    }
    const std::string_view path = script.key;
    if (path.substr(path.rfind('/') + 1).find(row.script) != std::string_view::npos &&
        path.ends_with(".py")) {
      return NamedKind{script, std::string{row.name}, row.is_modelled};
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::importing
