#include "app/set_in_words.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(SetInWords, NamesAFileAndNoConfiguration) {
  EXPECT_EQ(set_in_words("host", "my_host.yaml"), "--set host=my_host.yaml");
  EXPECT_EQ(set_in_words("host", "out/my_host"), "--set host=out/my_host");
  EXPECT_EQ(set_in_words("host", "my_host"), "--set host=./my_host");  // else one of configs/hosts
}

TEST(SetInWords, IsOneWordOfAShell) {
  EXPECT_EQ(set_in_words("host", "my host.yaml"), "--set 'host=my host.yaml'");
}

}  // namespace
}  // namespace lockstep
