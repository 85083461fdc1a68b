#include "calibration/collectives/fitted_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/effective.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/collectives/group_errors.hpp"
#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

using namespace literals;

/// nccl-tests' sizes are powers of two.
std::string size_in_words(Bytes size) {
  for (const auto& [unit, symbol] : {std::pair{1_GiB, "GiB"}, {1_MiB, "MiB"}, {1_KiB, "KiB"}}) {
    const double count = size / unit;
    if (count >= 1 && count == std::floor(count)) {
      return fmt::format("{:.0f} {}", count, symbol);
    }
  }
  return to_string(size);
}

/// `all_reduce on 1 x 4, 1 x 8 GPUs, 64 KiB to 1 GiB`: what was measured of what depends on a number.
std::string range_of(const FittedNumber& number, const CollectiveMeasurements& measurements,
                     const CollectiveFit& fit) {
  std::map<CollectiveKind, std::set<std::pair<int, int>>> groups;
  Bytes least = measurements.rows[fit.rows[number.rows.front()].measurement].size, most = least;
  for (const std::size_t row : number.rows) {
    const CollectiveMeasurement& measured = measurements.rows[fit.rows[row].measurement];
    groups[measured.kind].insert({measured.nodes, measured.gpus_per_node});
    least = std::min(least, measured.size);
    most = std::max(most, measured.size);
  }
  std::vector<std::string> texts;
  for (const auto& [kind, shapes] : groups) {
    std::vector<std::string> sizes;
    for (const auto& [nodes, gpus_per_node] : shapes) {
      sizes.push_back(fmt::format("{} x {}", nodes, gpus_per_node));
    }
    texts.push_back(fmt::format("{} on {} GPUs", to_string(kind), fmt::join(sizes, ", ")));
  }
  return fmt::format("{}, {} to {}", fmt::join(texts, ", "), size_in_words(least), size_in_words(most));
}

/// Few rows say little of how far others are off: the error that a fitted number has where none is known
/// (base/provenance.hpp) counts as one row more.
double error_from(const std::vector<double>& errors) {
  constexpr double kUsual = 0.10;
  const auto rows = static_cast<double>(errors.size());
  return (rows * summarise(errors).mean + kUsual) / (rows + 1);
}

Evidence evidence_of(const FittedNumber& number, const std::string& source,
                     const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  Evidence evidence{Provenance::Fitted, source, std::nullopt, std::nullopt, {}};
  if (!number.rows.empty()) {
    evidence.range = range_of(number, measurements, fit);
  }
  const std::vector<double> errors = plan_errors(measurements, fit, number);
  if (errors.empty()) {
    evidence.is = Provenance::Derived;
    evidence.source += ", which no row that was held out depends on";
  } else {
    evidence.error = error_from(errors);
    evidence.range +=
        fmt::format("; error of {} held-out row{} that depend{} on it, without what launching added",
                    errors.size(), errors.size() == 1 ? "" : "s", errors.size() == 1 ? "s" : "");
  }
  return evidence;
}

ProvenanceTable provenance_of_fit(ProvenanceTable start, const std::string& start_name,
                                  const CollectiveFit& fit, const CollectiveMeasurements& measurements,
                                  const std::string& source) {
  for (auto& [key, of_start] : start) {
    if (of_start.is != Provenance::Guessed) {  // "ring's" is that of the start's ring
      of_start = {Provenance::Derived, start_name + "'s: " + of_start.source, std::nullopt, std::nullopt, {}};
    }
  }
  for (const FittedNumber& number : fit.numbers) {
    if (number.moved) {
      start[number.key] = evidence_of(number, source, measurements, fit);
    }
  }
  return start;
}

/// The fabric's costs as they were fitted, with the error of the rows between nodes that were held out, and
/// half of the fabric's own: more nodes than were measured are predicted, too.
NetworkFabric own_network(const CollectiveMeasurements& measurements, const CollectiveFit& fit,
                          const std::string& source) {
  NetworkFabric own = *fit.profile.between_nodes;
  own.source = fmt::format("{}, from {}", source, own.name);
  std::vector<double> errors;
  for (const FittedRow& row : fit.rows) {
    if (row.held_out && measurements.rows[row.measurement].nodes > 1) {
      errors.push_back(error_of(measurements, row));
    }
  }
  if (!errors.empty()) {
    own.error = std::hypot(error_from(errors), own.error / 2);
  }
  return own;
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
  if (fit.profile.between_nodes) {
    document.set("between_nodes", yaml_of(own_network(measurements, fit, source)));
  }
  document.set("provenance", yaml_of(provenance_of_fit(fit.profile.provenance, options.start.stem().string(),
                                                       fit, measurements, source)));
  return effective_text<CollectiveProfile>(document);
}

}  // namespace lockstep
