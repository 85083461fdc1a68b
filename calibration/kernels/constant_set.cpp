#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/provenance.hpp"
#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "calibration/kernels/constant_fit.hpp"

namespace lockstep {
namespace {

std::string tiles_text(const GemmProfile& profile) {
  std::string text;
  for (const GemmTile& tile : profile.tiles) {
    text += fmt::format("{}{{rows: {}, columns: {}, warps: {}, efficiency: {:.4f}}}",
                        text.empty() ? "" : ", ", tile.rows, tile.columns, tile.warps, tile.efficiency);
  }
  return "[" + text + "]";
}

/// Provenance of the numbers that the start gives. A start for this very GPU still holds for numbers that did
/// not move; for another GPU it is no more than where they are from.
ProvenanceTable evidence_of_start(ProvenanceTable start, const ConstantFit& fit) {
  for (auto& [key, of_start] : start) {
    std::string source = fmt::format("{}'s: {}", fit.start, of_start.source);
    if (fit.start_is_own) {
      of_start.source = std::move(source);
    } else if (of_start.is != Provenance::Guessed) {
      of_start = {Provenance::Derived, std::move(source), std::nullopt, std::nullopt, {}};
    }
  }
  return start;
}

/// Sets a value, of which the document will say that it is this fit's.
void put(YamlDocument& document, const std::string& key_path, const std::string& value) {
  const auto mark = [](const auto& self, YamlNode& node) -> void {
    node.at = {"this fit", 0, 0};
    for (YamlNode& item : node.items) self(self, item);
    for (YamlEntry& entry : node.entries) self(self, entry.value);
  };
  YamlNode node = YamlDocument::value_of_set(key_path, value);
  mark(mark, node);
  document.set(key_path, std::move(node));
}

}  // namespace

YamlDocument with_constants(const ConstantFit& fit, YamlDocument base, const std::string& name,
                            const std::string& source) {
  put(base, "name", quoted_if_needed(name));
  put(base, "source", quoted_if_needed(source));
  const std::map<std::string, const GemmProfile*> products{
      {"fp32.tiles", &fit.efficiency.fp32},
      {"fp32_batched.tiles", &fit.efficiency.fp32_batched},
      {"tensor.tiles", &fit.efficiency.tensor},
      {"tf32.tiles", fit.efficiency.tf32 ? &*fit.efficiency.tf32 : nullptr}};
  ProvenanceTable evidence = evidence_of_start(read_document<KernelEfficiency>(base).provenance, fit);
  for (const FittedConstant& constant : fit.constants) {
    const auto product = products.find(constant.key);
    put(base, constant.key,
        product != products.end()
            ? tiles_text(*product->second)
            : fmt::format("{:.4g}{}{}", constant.after, constant.unit.empty() ? "" : " ", constant.unit));
    evidence[constant.key] = {Provenance::Fitted,
                              source + "; error: of the rows held out",
                              std::round(1000 * fit.error_of(constant.key)) / 1000,
                              std::nullopt,
                              {}};
  }
  base.set("provenance", yaml_of(evidence));  // whole keys: `tensor.tiles` is no path
  return base;
}

}  // namespace lockstep
