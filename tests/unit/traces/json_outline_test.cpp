#include "traces/json_outline.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::testing {
namespace {

class Outline : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& text) const {
    folder_.write("a.json", text);
    return (folder_.path() / "a.json").string();
  }
  [[nodiscard]] std::string text_of(const std::string& text) const { return to_text(outline_of(file(text))); }

 private:
  test::ScratchFolder folder_;
};

TEST_F(Outline, NamesMembersWithTheirLines) {
  EXPECT_EQ(text_of("{}"), "an object without members");
  EXPECT_EQ(text_of("\n{\"spans\": [],\n \"name\": \"x\", \"\": 3}"),
            R"(an object with "spans" (a list, line 2), "name" (a text, line 3) and "" (a number, line 3))");
  EXPECT_EQ(text_of(R"({"a": {}, "b": true, "c": -1, "d": [1], "e": 2, "f": 3, "g": 4, "h": null})"),
            R"(an object with "a" (an object, line 1), "b" (a word, line 1), "c" (a number, line 1), )"
            R"("d" (a list, line 1), "e" (a number, line 1), "f" (a number, line 1) and 2 more)");
}

TEST_F(Outline, OfAListShowsItsFirstElement) {
  EXPECT_EQ(text_of("[]"), "a list of 0 objects");
  EXPECT_EQ(text_of("[\n{\"run\": 7, \"loss\": [0.5]},\n{\"other\": 1}]"),
            R"(a list of 2 objects, the first with "run" (a number, line 2) and "loss" (a list, line 2))");
}

TEST_F(Outline, TellsWhatCanBeJson) {
  EXPECT_TRUE(begins_as_json(file("")));
  EXPECT_TRUE(begins_as_json(file(" \n{")));
  EXPECT_TRUE(begins_as_json(file("[ ]")));
  EXPECT_TRUE(begins_as_json(file("[\n {")));
  EXPECT_FALSE(begins_as_json(file("[1, 2]")));
  EXPECT_FALSE(begins_as_json(file("name: x")));
  EXPECT_EQ(beginning_of(file("name: x\n\x01 and much more than is wanted")), "name: x.. and much more ");
  EXPECT_THROW((void)outline_of(file("{\"a\": [1, 2")), InputError);
}

}  // namespace
}  // namespace lockstep::testing
