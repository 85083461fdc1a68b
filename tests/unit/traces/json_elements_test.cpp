#include "traces/json_elements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class Elements : public ::testing::Test {
 protected:
  std::vector<std::pair<std::string, std::uint64_t>> elements_;
  std::vector<std::pair<std::string, std::string>> members_;

  void read(const std::string& text, std::size_t piece) {
    JsonElements elements{
        "list", "file.json",
        [this](std::string& element, std::uint64_t line) { elements_.emplace_back(element, line); },
        [this](std::string_view key, std::string& value, std::uint64_t /*line*/) {
          members_.emplace_back(std::string{key}, value);
        }};
    for (std::size_t at = 0; at < text.size(); at += piece) {
      elements.feed(std::string_view{text}.substr(at, piece));
    }
    elements.finish();
  }
};

TEST_F(Elements, AreTheSameHoweverTheTextComesIn) {
  const std::string text =
      "{ \"a\": \"x,\\\"}]\", \"n\": 12, \"list\": [ {\"b\": [1, {\"c\": \"]\"}]},\n {\"d\": \"\\\\\"} ],\n "
      "\"o\": {\"list\": [1]} }";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
    elements_.clear();
    members_.clear();
    read(text, piece);
    EXPECT_THAT(elements_,
                ElementsAre(Pair("{\"b\": [1, {\"c\": \"]\"}]}", 1), Pair("{\"d\": \"\\\\\"}", 2)));
    EXPECT_THAT(members_,
                ElementsAre(Pair("a", "\"x,\\\"}]\""), Pair("n", "12"), Pair("o", "{\"list\": [1]}")));
  }
}

TEST_F(Elements, OfABareArray) {
  read("[{\"a\": 1}, {\"b\": 2}]", 4);
  EXPECT_THAT(elements_, ElementsAre(Pair("{\"a\": 1}", 1), Pair("{\"b\": 2}", 1)));
}

/// The elements that are whole, among those with a quote too many.
TEST_F(Elements, BeginAnewBehindALineWithAnOddQuote) {
  const std::string whole = "{\"a\": {\"b\": 1}}";
  for (const std::string odd :
       {R"({"n": "x = 5"", "args": {"c": 1}})", R"({"n": "{ "", "c": [1]})", "{\"n\": \"a\nb\", \"c\": 1}",
        "{\n \"n\": \"x = 5\"\", \"p\": 1,\n \"args\": {\n  \"c\": 1\n }\n}",
        "{\n \"args\": { \"s\": \"a\"b\", \"d\": {\n  \"c\": 1\n  }\n }\n}",
        "{\"n\": \"a\\\nb\"\", \"c\": 1}"}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}}) {
      elements_.clear();
      read("{\"list\": [\n" + whole + ",\n" + odd + ",\n" + whole + ",\n" + odd + "\n], \"m\": 2}", piece);
      std::vector<std::string> read_whole;
      for (const auto& [text, line] : elements_) {
        if (text == whole) {
          read_whole.push_back(text);
        }
      }
      EXPECT_THAT(read_whole, ElementsAre(whole, whole)) << odd;
      EXPECT_EQ(elements_.size(), 4U) << odd;
    }
  }
}

struct Broken {
  const char* text;
  const char* message;
};

class BrokenElements : public Elements, public ::testing::WithParamInterface<Broken> {};

TEST_P(BrokenElements, AreRefusedWithTheirLine) {
  try {
    read(GetParam().text, 2);
    FAIL() << "accepted";
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BrokenElements,
    ::testing::Values(
        Broken{"", "file.json:1: the file is empty"}, Broken{"nothing", "not a JSON object or array"},
        Broken{"{\"list\": [{\"a\": 1}", "file.json:1: the file is cut off"},
        Broken{"{\"list\":\n[{\"a\": \"", "file.json:2: the file is cut off"},
        Broken{"{\"list\": [\n1]}", "file.json:2: an object is expected here: an element of \"list\""},
        Broken{"{list: 1}", "the name of a member is expected here"},
        Broken{"{\"a\" 1}", "a colon is expected here"}, Broken{"{} {}", "more text after the end"}));

}  // namespace
}  // namespace lockstep::test
