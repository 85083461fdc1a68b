#include "base/provenance.hpp"

#include <array>
#include <cmath>
#include <stdexcept>

namespace lockstep {
namespace {

/// Half of a normal distribution's 90 % interval over its mean absolute deviation.
constexpr double kHalfWidthOfError = 1.645 / 0.798;

/// Errors by Provenance for numbers without a known one (docs/trust.md).
constexpr std::array kUsualError{0.03, 0.10, 0.20, 0.40};

}  // namespace

Evidence Evidence::parse(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::string word = text.substr(0, comma);
  for (const auto& [value, name] : names_of(Provenance{})) {
    if (word == name && comma != std::string::npos) {
      const std::size_t source = text.find_first_not_of(' ', comma + 1);
      return {value, source == std::string::npos ? "" : text.substr(source), std::nullopt, std::nullopt, {}};
    }
  }
  throw std::invalid_argument{"'" + text + "' does not say where a number is from: write one of " +
                              "measured, fitted, derived and guessed, a comma, and the source"};
}

void Evidence::check() const {
  if (source.empty()) {
    throw FieldError{"source", "says nothing: name the measurement, paper, data sheet or rule"};
  }
  if (error && !(*error >= 0)) {
    throw FieldError{"error", "a mean absolute relative error, 0 or more, e.g. 0.02"};
  }
  if (machines && !(*machines >= 0)) {
    throw FieldError{"machines", "a mean absolute relative difference, 0 or more, e.g. 0.06"};
  }
}

const Evidence& evidence_for(const ProvenanceTable& table, const std::string& key_path) {
  static const Evidence unsaid{Provenance::Guessed, "not said", std::nullopt, std::nullopt, {}};
  for (std::string key = key_path;;) {
    if (const auto found = table.find(key); found != table.end()) {
      return found->second;
    }
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) {
      return unsaid;
    }
    key.resize(dot);
  }
}

double half_width(const Evidence& evidence) {
  return kHalfWidthOfError *
         std::hypot(evidence.error.value_or(kUsualError[static_cast<std::size_t>(evidence.is)]),
                    evidence.machines.value_or(0));
}

}  // namespace lockstep
