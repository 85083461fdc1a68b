#include "calibration/collectives/fitted_profile.hpp"

#include <fmt/format.h>

#include "base/effective.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/collective_fit_text.hpp"
#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

Evidence evidence_of(const FittedNumber& number, const std::string& source,
                     const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::vector<double> held_out = held_out_errors(measurements, fit, &number);
  const bool depends = !held_out.empty();
  if (!depends) {
    held_out = held_out_errors(measurements, fit);
  }
  Evidence evidence{Provenance::Fitted, source, std::nullopt, {}};
  if (!held_out.empty()) {
    evidence.error = summarise(held_out).mean;
    evidence.range = fmt::format("from 64 KiB, {} held-out rows{}", held_out.size(),
                                 depends ? " that depend on it" : ", none of which depends on it");
  }
  return evidence;
}

ProvenanceTable provenance_of_fit(ProvenanceTable start, const std::string& start_name,
                                  const CollectiveFit& fit, const CollectiveMeasurements& measurements,
                                  const std::string& source) {
  for (auto& [key, of_start] : start) {
    if (is_own(of_start.is)) {
      of_start = {Provenance::Derived, start_name + "'s: " + of_start.source, std::nullopt, {}};
    }
  }
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      start[number.key] = evidence_of(number, source, measurements, fit);
    }
  }
  return start;
}

}  // namespace

std::string fitted_profile_yaml(const CollectiveMeasurements& measurements, const CollectiveFit& fit,
                                const FittedProfileOptions& options) {
  YamlDocument document = YamlDocument::from_file(options.start);
  const auto set = [&](const std::string& key, const std::string& value) {
    document.set(key, yaml_node(YamlNode::Kind::Scalar, {"fitted"}, value));
  };
  set("name", options.name);
  set("source",
      fmt::format("Fitted by lockstep calibrate to {} on {}; what no measurement depends on is that of "
                  "{}.",
                  options.measured, options.cluster, options.start.filename().string()));
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      set(number.key, number.after);
    }
  }
  const std::string source =
      fmt::format("lockstep calibrate fit to {} on {}", options.measured, options.cluster);
  document.set("provenance", yaml_of(provenance_of_fit(fit.profile.provenance, options.start.stem().string(),
                                                       fit, measurements, source)));
  return effective_text<CollectiveProfile>(document);
}

}  // namespace lockstep
