#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "app/commands/explain.hpp"
#include "app/commands/list.hpp"
#include "app/commands/schema.hpp"
#include "app/file_kinds.hpp"
#include "base/error.hpp"
#include "base/explanation.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {

void PrintTo(const FileKind& file, std::ostream* out) {
  *out << file.kind;
}

namespace {

template <class Act>
std::string complaint_of(Act act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ListCommand, NamesWhatThereIs) {
  const test::ScratchFolder folder;
  folder.write("scenarios/straggler/scenario.yaml", "name: One slow GPU\n");
  folder.write("configs/gpus/a100.yaml", "name: a100\n");
  folder.write("configs/gpus/broken.yaml", "name: [\n");
  const ConfigPath configs{{folder.path()}};
  EXPECT_EQ(list_text(configs, ""),
            "scenarios:\n"
            "  straggler                One slow GPU\n"
            "\n"
            "gpus:\n"
            "  a100\n"
            "  broken                   (cannot be read)\n");
  EXPECT_EQ(list_text(configs, "gpus").find("scenarios"), std::string::npos);
  EXPECT_EQ(complaint_of([&] { list_text(configs, "gpu"); }),
            "list: there is no kind 'gpu' - did you mean 'gpus'?");
}

TEST(ExplainCommand, FindsAKeyInTheKindThatHasIt) {
  EXPECT_TRUE(explain_text("l2_bandwidth", "").starts_with("in a scenario:\n\ngpu.l2_bandwidth\n"))
      << explain_text("l2_bandwidth", "");
  EXPECT_TRUE(explain_text("memory_bandwidth", "gpus").starts_with("in a GPU model:\n\nmemory_bandwidth\n"));
  EXPECT_EQ(complaint_of([] { explain_text("memory_bandwith", ""); }),
            "explain: there is no parameter 'memory_bandwith' - did you mean 'memory_bandwidth'?");
  EXPECT_EQ(complaint_of([] { explain_text("xyzzy", ""); }),
            "explain: there is no parameter 'xyzzy'; 'lockstep explain' lists all");
  EXPECT_EQ(complaint_of([] { explain_text("memory", "gpu"); }),
            "explain: there is no kind of file 'gpu' - did you mean 'gpus'?");
}

// ZeRO is what parallelism.sharding chooses.
TEST(ExplainCommand, LooksForAWordWhereNothingIsCalledSo) {
  for (const char* asked : {"zero", "ZeRO", "parallelism.zero"}) {
    const std::string text = explain_text(asked, "");
    EXPECT_TRUE(text.starts_with("no parameter is called '")) << text;
    EXPECT_NE(text.find("those of a scenario that speak of it:\n\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  parallelism.sharding  "), std::string::npos) << text;
  }
  EXPECT_EQ(complaint_of([] { explain_text("gpus.memory", "gpus"); }),
            "explain: there is no parameter 'gpus.memory'; 'lockstep explain' lists all");
  EXPECT_EQ(complaint_of([] { explain_text("xyzzy.", ""); }),
            "explain: there is no parameter 'xyzzy.'; 'lockstep explain' lists all");
}

class EveryKind : public ::testing::TestWithParam<FileKind> {};

TEST_P(EveryKind, HasASchemaWithAllItsKeys) {
  const auto schema = nlohmann::json::parse(schema_text(GetParam().kind));
  const ParameterType type = GetParam().type();
  ASSERT_FALSE(type.parameters.empty());
  for (const Parameter& parameter : type.parameters) {
    EXPECT_TRUE(schema["else"]["properties"].contains(parameter.key)) << parameter.key;
  }
}

TEST_P(EveryKind, ExplainsAllItsParameters) {
  const ParameterType type = GetParam().type();
  const std::string all = explain_text("", GetParam().kind);
  for (const PlacedParameter& placed : all_parameters(type)) {
    EXPECT_NE(all.find("  " + placed.path + " "), std::string::npos) << placed.path;
    EXPECT_FALSE(placed.parameter->meaning.empty()) << placed.path;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, EveryKind, ::testing::ValuesIn(file_kinds()),
                         [](const auto& instance) { return instance.param.kind; });

}  // namespace
}  // namespace lockstep
