#include "base/provenance.hpp"

#include <gmock/gmock.h>

#include "base/effective.hpp"
#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using namespace literals;
using ::testing::HasSubstr;

struct Inner {
  Seconds latency;

  template <class Visitor>
  static void describe(Visitor& key, Inner& of) {
    key.required("latency", of.latency, "a latency");
  }
};

struct Machine {
  double rate = 1;
  std::optional<Inner> link;
  std::map<std::string, Inner> operators;
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, Machine& of) {
    key.optional("rate", of.rate, 1.0, "a rate");
    key.optional("link", of.link, std::nullopt, "a link");
    key.optional("operators", of.operators, {}, "by name");
    key.optional("provenance", of.provenance, {}, "where they are from");
  }
  void check() const { check_keys<Machine>(provenance); }
};

Machine machine(const std::string& provenance) {
  return read_text<Machine>("provenance:\n" + provenance, "machine.yaml");
}

TEST(Provenance, AWordAndASourceOrAMapping) {
  const Machine read = machine(
      "  rate: measured, data sheet, page 3\n"
      "  link: { is: fitted, source: a log, error: 0.02, range: 1 KiB to 1 GiB }\n");
  EXPECT_EQ(read.provenance.at("rate").is, Provenance::Measured);
  EXPECT_EQ(read.provenance.at("rate").source, "data sheet, page 3");
  EXPECT_EQ(read.provenance.at("link").is, Provenance::Fitted);
  EXPECT_EQ(read.provenance.at("link").error, 0.02);
}

TEST(Provenance, TheLongestKeyCountsAndWhatIsNotSaidIsGuessed) {
  const Machine read = machine("  link: derived, a rule\n  link.latency: measured, a trace\n");
  EXPECT_EQ(evidence_for(read.provenance, "link.latency").is, Provenance::Measured);
  EXPECT_EQ(evidence_for(read.provenance, "link.other").is, Provenance::Derived);
  EXPECT_EQ(evidence_for(read.provenance, "rate").is, Provenance::Guessed);
  EXPECT_EQ(evidence_for(read.provenance, "linkage").is, Provenance::Guessed);
}

TEST(Provenance, KeysOfATableAreTheFilesOwn) {
  EXPECT_NO_THROW(static_cast<void>(machine("  operators.aten::add: measured, a trace\n")));
}

std::string complaint(const std::string& provenance) {
  try {
    static_cast<void>(machine(provenance));
  } catch (const InputError& problem) {
    return problem.what();
  }
  return {};
}

TEST(Provenance, WhatIsNoParameterIsTheUsersMistake) {
  EXPECT_THAT(complaint("  rates: measured, a trace\n"),
              HasSubstr("no parameter 'rates' - did you mean 'rate'?"));
  EXPECT_THAT(complaint("  link.latenzy: measured, a trace\n"), HasSubstr("no parameter 'link.latenzy'"));
  EXPECT_THAT(complaint("  rate.of: measured, a trace\n"), HasSubstr("no parameter 'rate.of'"));
  EXPECT_THAT(complaint("  rate: seen, a trace\n"),
              HasSubstr("machine.yaml:2:9: rate: 'seen, a trace' does not say where a number is from"));
  EXPECT_THAT(complaint("  rate: measured\n"), HasSubstr("a comma, and the source"));
  EXPECT_THAT(complaint("  rate: { is: measured, source: \"\" }\n"), HasSubstr("says nothing"));
  EXPECT_THAT(complaint("  rate: { is: fitted, source: a, error: -1 }\n"), HasSubstr("0 or more"));
  EXPECT_THAT(complaint("  rate: { is: fitted, source: a, machines: -1 }\n"),
              HasSubstr("difference, 0 or more"));
}

TEST(Provenance, ABandIsNineTenthsOfANormalDistributionOfThatMeanError) {
  const Evidence known{Provenance::Derived, "a rule", 0.05, std::nullopt, {}};
  EXPECT_NEAR(half_width(known), 0.05 * 1.645 / 0.798, 1e-12);
  const Evidence unknown{Provenance::Guessed, "nothing", std::nullopt, std::nullopt, {}};
  EXPECT_NEAR(half_width(unknown), 0.40 * 1.645 / 0.798, 1e-12);
}

TEST(Provenance, HowMachinesDifferComesOnTopOfTheError) {
  const Machine read = machine("  rate: { is: fitted, source: a log, error: 0.03, machines: 0.04 }\n");
  EXPECT_NEAR(half_width(read.provenance.at("rate")), 0.05 * 1.645 / 0.798, 1e-12);
}

/// A machine that takes its engine from a set of its own kind.
struct Vehicle {
  double speed = 1;
  Machine engine;
  ProvenanceTable provenance;

  template <class Visitor>
  static void describe(Visitor& key, Vehicle& of) {
    key.optional("speed", of.speed, 1.0, "a speed");
    key.required("engine", of.engine, "an engine");
    key.optional("provenance", of.provenance, {}, "where they are from");
  }
};

std::string effective(const std::string& of_engine, const std::string& of_rate) {
  return effective_text<Vehicle>(YamlDocument::from_text(
      "speed: 2\nengine:\n  rate: 3\n  provenance:\n    rate: " + of_rate +
          ", it\nprovenance:\n  speed: measured, a race\n  engine: " + of_engine + ", it\n",
      "vehicle.yaml"));
}

TEST(Provenance, StandsBehindTheValuesOfAnEffectiveConfiguration) {
  const auto of_rate = [](const std::string& word) {
    return ::testing::ContainsRegex("rate: 3 +# vehicle.yaml:3, " + word + "\n");
  };
  EXPECT_THAT(effective("fitted", "guessed"),
              ::testing::ContainsRegex("speed: 2 +# vehicle.yaml:1, measured\n"));
  EXPECT_THAT(effective("fitted", "measured"), of_rate("measured"));  // made for it: its own word
  EXPECT_THAT(effective("derived", "fitted"), of_rate("derived"));    // lent: the worse of both
  EXPECT_THAT(effective("derived", "guessed"), of_rate("guessed"));
}

}  // namespace
}  // namespace lockstep
