#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "base/yaml_text.hpp"
#include "base/yaml_value.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/kernels/kernel_fit.hpp"

namespace lockstep {
namespace {

std::string figures(const std::vector<double>& errors) {
  if (errors.empty()) return fmt::format("{:>6}{:>8}{:>8}{:>8}", "-", "", "", "");
  const ErrorSummary summary = summarise(errors);
  constexpr int kWidth = 8;
  return fmt::format("{:6}{}{}{}", summary.count, percent_cell(summary.geometric_mean, kWidth),
                     percent_cell(summary.mean, kWidth), percent_cell(summary.ninetieth, kWidth));
}

std::string verdict(const FittedKernel& kernel) {
  if (!kernel.trained) {
    return fmt::format("{} rows: too few for a network; the formula answers", kernel.rows);
  }
  if (!kernel.taken) return "left out: the formula is as good, or better, on rows that were not learned from";
  return fmt::format("taken: band {:.0f} %", 100 * kernel.network.band);
}

std::string errors_text(const FittedKernel& kernel) {
  std::string text = fmt::format("{}: {}\n", title_of(kernel.network), verdict(kernel));
  for (const KernelErrors& errors : kernel.errors) {
    text += fmt::format("  {:<44}{}  {}  {}\n", errors.name, figures(errors.network), figures(errors.formula),
                        figures(errors.beyond));
  }
  return text;
}

std::string features_yaml(const char* key, const std::vector<LearnedFeature>& features) {
  std::string text = fmt::format("    {}:\n", key);
  for (const LearnedFeature& feature : features) {
    text += fmt::format("      - {{name: {}, least: {:.6g}, most: {:.6g}}}\n", feature.name, feature.least,
                        feature.most);
  }
  return features.empty() ? "" : text;
}

std::string layers_yaml(const char* key, const std::vector<LearnedLayer>& layers) {
  std::string text = fmt::format("    {}:\n", key);
  for (const LearnedLayer& layer : layers) {
    text += fmt::format("      - inputs: {}\n        outputs: {}\n        numbers: {}\n", layer.inputs,
                        layer.outputs, layer.numbers);
  }
  return layers.empty() ? "" : text;
}

std::string scale_yaml(const std::map<std::string, LearnedScale>& scale) {
  std::string text;
  for (const auto& [gpu, numbers] : scale)
    text += fmt::format("  {}: {}\n", gpu, flow_text(yaml_of(numbers)));
  return text;
}

/// "fitted: 1,234 rows, ...": what a profile keeps of the residuals.
std::string history(const FittedKernel& kernel) {
  std::string text;
  for (const KernelErrors& errors : kernel.errors) {
    if (errors.network.empty()) continue;
    text += fmt::format("{}{}: {} rows, mean error {:.1f} % (formula {:.1f} %)", text.empty() ? "" : "; ",
                        errors.name, errors.network.size(), 100 * summarise(errors.network).mean,
                        100 * summarise(errors.formula).mean);
  }
  return text;
}

}  // namespace

std::string title_of(const LearnedKernel& network) {
  return fmt::format("{} {}{}{}", name_of(network.family), network.type, network.layout.empty() ? "" : " ",
                     network.layout);
}

std::string kernel_fit_text(const KernelFit& fit) {
  std::string text = fmt::format(
      "errors, %: of networks and formulas where the network covers the row, of formulas beyond\n"
      "  {:<44}{:>30}  {:>30}  {:>30}\n  {:<44}{:>6}{:>8}{:>8}{:>8}  {:>6}{:>8}{:>8}{:>8}  "
      "{:>6}{:>8}{:>8}{:>8}\n",
      "", "network", "formula, same rows", "formula, beyond", "", "rows", "geom.", "mean", "90th", "rows",
      "geom.", "mean", "90th", "rows", "geom.", "mean", "90th");
  for (const FittedKernel& kernel : fit.kernels) text += errors_text(kernel);
  if (fit.unseen > 0) text += fmt::format("{} rows of kernels that no network answers for\n", fit.unseen);
  return text;
}

std::string learned_kernels_yaml(const KernelFit& fit, const std::string& name, const std::string& source) {
  std::string kernels;
  for (const FittedKernel& kernel : fit.kernels) {
    if (!kernel.taken) continue;
    const LearnedKernel& network = kernel.network;
    kernels += fmt::format("  - family: {}\n    type: {}\n", name_of(network.family), network.type);
    if (!network.layout.empty()) kernels += fmt::format("    layout: {}\n", network.layout);
    kernels +=
        fmt::format("    source: {}\n    band: {:.3g}\n    error: {:.3g}\n    formula_error: {:.3g}\n",
                    quoted_if_needed(history(kernel)), network.band, network.error, network.formula_error);
    kernels += features_yaml("features", network.features) + features_yaml("elements", network.elements) +
               layers_yaml("trunk", network.trunk) + layers_yaml("head", network.head);
  }
  if (kernels.empty()) {
    const bool are_few = std::ranges::any_of(fit.kernels, [](const auto& kernel) { return !kernel.trained; });
    throw std::invalid_argument{fmt::format(
        "no network is better than its formula on rows that it did not learn from: nothing is written, the "
        "formulas stay{}",
        are_few ? "; where rows are too few for a network, --constants fits the formulas' own few constants"
                : "")};
  }
  return fmt::format("name: {}\nsource: {}\ngpus: [{}]\nscale:\n{}kernels:\n{}", quoted_if_needed(name),
                     quoted_if_needed(source), fmt::join(fit.gpus, ", "), scale_yaml(fit.scale), kernels);
}

}  // namespace lockstep
