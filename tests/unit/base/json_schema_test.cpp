#include "base/json_schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/scratch_folder.hpp"
#include "tests/unit/base/machine_fixture.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

class Schema : public ::testing::Test {
 protected:
  Schema() {
    folder_.write("configs/gpus/a100.yaml", "");
    schema_ = Json::parse(json_schema<test::MachineSpec>("a machine", ConfigPath{{folder_.path()}}));
  }

  /// The schema of a property without the wrapping that carries its description.
  Json of(const std::string& key) { return schema_["else"]["properties"][key]["allOf"][0]; }

  test::ScratchFolder folder_;
  Json schema_;
};

TEST_F(Schema, IsAnObjectThatAllowsNothingElse) {
  EXPECT_EQ(schema_["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema_["else"]["additionalProperties"], false);
  EXPECT_EQ(schema_["else"]["required"], Json::parse(R"(["name"])"));
}

TEST_F(Schema, LeavesKeysOfEveryDepthToAnIncludedFile) {
  EXPECT_EQ(schema_["if"], Json::parse(R"({"required": ["include"]})"));
  EXPECT_TRUE(schema_["then"]["properties"].contains("include"));
  EXPECT_EQ(schema_["then"].dump().find(R"("required":["bandwidth"])"), std::string::npos);
  EXPECT_NE(schema_["else"].dump().find(R"("required":["bandwidth"])"), std::string::npos);
}

TEST_F(Schema, DescribesAndGivesTypedDefaults) {
  const Json& properties = schema_["else"]["properties"];
  EXPECT_EQ(properties["batch"]["description"], "samples - a whole number");
  EXPECT_EQ(properties["batch"]["default"], 65536);
  EXPECT_EQ(properties["nvlink"]["default"], true);
  EXPECT_EQ(properties["cache"]["default"], nullptr);
  EXPECT_EQ(properties["nodes"]["default"], Json::parse(R"({"preset": "pcie", "count": 1})"));
  EXPECT_FALSE(properties["name"].contains("default"));
}

TEST_F(Schema, TypesTheFields) {
  EXPECT_EQ(of("batch"), Json::parse(R"({"type": "integer"})"));
  EXPECT_EQ(of("precision"), Json::parse(R"({"enum": ["fp32", "bf16"]})"));
  EXPECT_EQ(of("peak")["propertyNames"], Json::parse(R"({"enum": ["fp32", "bf16"]})"));
  EXPECT_EQ(of("links")["items"]["required"], Json::parse(R"(["bandwidth"])"));
  EXPECT_EQ(of("cache")["anyOf"][0], Json::parse(R"({"type": "null"})"));
  EXPECT_EQ(of("nodes")["else"], Json::parse(R"({"type": ["string", "number"]})"));
}

/// An editor goes by `then` alone, and underlines a misspelt key instead of all of the mapping.
TEST_F(Schema, JudgesAMappingByItsKeysAlone) {
  EXPECT_EQ(of("nodes")["if"], Json::parse(R"({"type": "object"})"));
  EXPECT_EQ(of("nodes")["then"]["additionalProperties"], false);
  EXPECT_FALSE(of("nodes").contains("anyOf"));
}

TEST_F(Schema, OffersTheNamesThatExist) {
  EXPECT_EQ(of("gpu"), Json::parse(R"({"$ref": "#/definitions/gpus"})"));
  EXPECT_EQ(schema_["definitions"]["gpus"]["else"]["anyOf"][0], Json::parse(R"({"enum": ["a100"]})"));
}

TEST_F(Schema, ItsUnitPatternAcceptsWhatTheReaderAccepts) {
  const Json bandwidth = of("links")["items"]["properties"]["bandwidth"]["allOf"][0];
  const std::regex pattern{bandwidth["anyOf"][1]["pattern"].get<std::string>(), std::regex::ECMAScript};
  for (const char* good : {"25 GB/s", "400Gbps", "1.5e3 MiB/s", ".5 TB/s", "-1 B/s"}) {
    EXPECT_TRUE(std::regex_match(good, pattern)) << good;
  }
  for (const char* bad : {"25", "25 GB", "GB/s", "25 gb/s", "25 GB/s x"}) {
    EXPECT_FALSE(std::regex_match(bad, pattern)) << bad;
  }
}

}  // namespace
}  // namespace lockstep
