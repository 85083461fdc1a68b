#include <fmt/format.h>

#include <map>

#include "base/yaml_text.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/kernels/constant_fit.hpp"

namespace lockstep {
namespace {

std::string mean_and_count(const std::vector<double>& before, const std::vector<double>& after) {
  if (after.empty()) return fmt::format("{:>6}{:>9}{:>9}", 0, "-", "-");
  return fmt::format("{:6}{:9.1f}{:9.1f}", after.size(), 100 * summarise(before).mean,
                     100 * summarise(after).mean);
}

std::string tiles_text(const GemmProfile& profile) {
  std::string text;
  for (const GemmTile& tile : profile.tiles) {
    text += fmt::format("{}{{rows: {}, columns: {}, warps: {}, efficiency: {:.4f}}}",
                        text.empty() ? "" : ", ", tile.rows, tile.columns, tile.warps, tile.efficiency);
  }
  return "[" + text + "]";
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

double ConstantFit::error_of(const std::string& key) const {
  std::vector<double> errors;
  for (const ConstantErrors& family : families) {
    if ((", " + family.family + ",").find(", " + key + ",") != std::string::npos) {
      errors.insert(errors.end(), family.held_out_after.begin(), family.held_out_after.end());
    }
  }
  return errors.empty() ? error : summarise(errors).mean;
}

std::string constant_fit_text(const ConstantFit& fit) {
  std::string text = fmt::format("{:<34}{:>10}{:>10}\n", "constants of " + fit.gpu, "before", "now");
  for (const FittedConstant& constant : fit.constants) {
    text += fmt::format("  {:<32}{:>10.3f}{:>10.3f} {}\n", constant.key, constant.before, constant.after,
                        constant.unit);
  }
  for (const KeptConstant& kept : fit.kept) {
    text += fmt::format("  {:<32}stays as it is: {}\n", kept.key, kept.why);
  }
  text += fmt::format("\n{:<34}{:>24}{:>24}\n{:<34}{:>6}{:>9}{:>9}{:>6}{:>9}{:>9}\n", "mean error, %",
                      "fitted rows", "held out", "", "rows", "before", "now", "rows", "before", "now");
  for (const ConstantErrors& family : fit.families) {
    text += fmt::format("  {:<32}{}{}\n", family.family,
                        mean_and_count(family.fitted_before, family.fitted_after),
                        mean_and_count(family.held_out_before, family.held_out_after));
  }
  if (fit.unused > 0) text += fmt::format("{} rows of other families were not used\n", fit.unused);
  return text;
}

YamlDocument with_constants(const ConstantFit& fit, YamlDocument base, const std::string& name,
                            const std::string& source) {
  put(base, "name", quoted_if_needed(name));
  put(base, "source", quoted_if_needed(source));
  const std::map<std::string, const GemmProfile*> products{
      {"fp32.tiles", &fit.efficiency.fp32},
      {"fp32_batched.tiles", &fit.efficiency.fp32_batched},
      {"tensor.tiles", &fit.efficiency.tensor},
      {"tf32.tiles", fit.efficiency.tf32 ? &*fit.efficiency.tf32 : nullptr}};
  std::string quoted = source;
  for (std::size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 2) {
    quoted.insert(at, 1, '\'');
  }
  for (const FittedConstant& constant : fit.constants) {
    const auto product = products.find(constant.key);
    put(base, constant.key,
        product != products.end()
            ? tiles_text(*product->second)
            : fmt::format("{:.4g}{}{}", constant.after, constant.unit.empty() ? "" : " ", constant.unit));
    put(base, "provenance." + constant.key.substr(0, constant.key.find('.')),
        fmt::format("{{is: fitted, source: '{}; error: of the rows held out', error: {:.3f}}}", quoted,
                    fit.error_of(constant.key)));
  }
  return base;
}

}  // namespace lockstep
