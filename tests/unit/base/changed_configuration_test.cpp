#include "base/changed_configuration.hpp"

#include <gtest/gtest.h>

#include "base/yaml_document.hpp"
#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

YamlNode tree(const std::string& text) {
  return YamlDocument::from_text(text, "over.yaml").root();
}

const char* const kGpu =
    "{clock: 2, peak: {fp32: 10, fp16: 100}, set: a100, provenance: {clock: 'measured, a sheet', peak: "
    "'measured, a sheet'}}";

std::string changed_by(const std::string& over) {
  return flow_text(changed_configuration(tree(kGpu), tree(over)));
}

TEST(ChangedConfiguration, ANumberThatIsSetAnewIsGuessed) {
  const YamlNode changed = changed_configuration(tree(kGpu), tree("{clock: 3, peak: {fp16: 90}}"));
  const YamlNode& table = changed.find("provenance")->value;
  EXPECT_EQ(table.find("clock")->value.scalar, "guessed, set at over.yaml:1:9");
  EXPECT_EQ(table.find("peak")->value.scalar, "measured, a sheet");
  EXPECT_EQ(table.find("peak.fp16")->value.scalar, "guessed, set at over.yaml:1:25");
  EXPECT_EQ(flow_text(changed.find("peak")->value), "{fp32: 10, fp16: 90}");
}

TEST(ChangedConfiguration, ASourceOfItsOwnCounts) {
  const YamlNode changed =
      changed_configuration(tree(kGpu), tree("{peak: {fp16: 90}, provenance: {peak: 'derived, a rule'}}"));
  EXPECT_EQ(flow_text(changed.find("provenance")->value),
            R"({clock: "measured, a sheet", peak: "derived, a rule"})");
}

TEST(ChangedConfiguration, WhatStaysAndWhatIsNoNumberKeepsItsWord) {
  EXPECT_EQ(changed_by("{clock: 2}"), flow_text(tree(kGpu)));
  const YamlNode changed = changed_configuration(tree(kGpu), tree("{set: mine.yaml, unknown: 3}"));
  EXPECT_EQ(changed.find("provenance")->value.entries.size(), 2U);
  EXPECT_EQ(flow_text(changed_configuration(tree("{a: 1}"), tree("{a: 2}"))), "{a: 2}");
}

}  // namespace
}  // namespace lockstep
