#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace lockstep {
namespace {

std::string problem_with(const std::string& text) {
  try {
    require_text(text, "a.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Utf8, IsTakenAsItIs) {
  EXPECT_EQ(first_byte_outside_utf8("caf\u00e9 \u20ac \U0001f600"), std::nullopt);
  EXPECT_EQ(problem_with("caf\u00e9:\t1\r\n"), "");
}

TEST(Utf8, HasNeitherOverlongFormsNorSurrogatesNorMoreThan21Bits) {
  for (const char* text :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe9", "\x80", "\xff"}) {
    EXPECT_EQ(first_byte_outside_utf8(text), 0) << text;
  }
  EXPECT_EQ(first_byte_outside_utf8("ab\xe2\x82"), 2);
}

TEST(Utf8, IsMadeOfOtherBytes) {
  EXPECT_EQ(made_utf8("caf\xe9!"), "caf\uFFFD!");
  EXPECT_EQ(made_utf8("fine"), "fine");
  EXPECT_EQ(json::text("a\xff"), "\"a\uFFFD\"");
}

TEST(Utf8, IsAskedForWithAPlace) {
  EXPECT_EQ(problem_with("name: x\nother: caf\xe9\n").substr(0, 40),
            "a.yaml:2:11: the byte 0xe9 is no UTF-8: ");
  EXPECT_EQ(problem_with(std::string{"a: \0b", 5}), "a.yaml:1:4: a NUL byte: this is no text file");
  EXPECT_EQ(problem_with("a: \x1b[0m"), "a.yaml:1:4: the control character 0x1b has no place in a text file");
  EXPECT_EQ(problem_with("\xff\xfe"), "a.yaml:1:1: this is UTF-16: save it as UTF-8");
}

TEST(Utf8, MayStandBehindAByteOrderMark) {
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbfname"), "name");
  EXPECT_EQ(without_byte_order_mark("name"), "name");
}

}  // namespace
}  // namespace lockstep
