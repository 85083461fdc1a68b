#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include "base/suggest.hpp"
#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

struct OneKey {
  int steps = 1;

  template <class Visitor>
  static void describe(Visitor& key, OneKey& spec) {
    key.optional("steps", spec.steps, 1, "of them");
  }
};

/// The least CPU time of three tries, in s.
double least_time(const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

/// Four times the input takes at most ten times as long: sixteen where time grows with the square.
void expect_nearly_linear(const std::function<std::string(int)>& text_of, int size) {
  const auto time = [&](int keys) {
    const std::string text = text_of(keys);
    return least_time([&] {
      try {
        (void)read_text<OneKey>(text, "a.yaml");
      } catch (const InputError&) {  // unknown keys
      }
    });
  };
  EXPECT_LT(time(4 * size), 10 * time(size) + 0.01);
}

TEST(ReadingGrowth, OfUnknownKeysIsLinear) {
  expect_nearly_linear(
      [](int keys) {
        std::string text;
        for (int i = 0; i < keys; ++i) text += fmt::format("k{}: 1\n", i);
        return text;
      },
      5'000);
}

TEST(ReadingGrowth, OfMergedKeysIsLinear) {
  expect_nearly_linear(
      [](int keys) {
        std::string text = "base: &base {";
        for (int i = 0; i < keys; ++i) text += fmt::format("k{}: 1, ", i);
        return text + "}\nmore: { <<: *base }\n";
      },
      5'000);
}

TEST(ReadingGrowth, OfMistakesIsToldUpToANumber) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += fmt::format("k{}: 1\n", i);
  try {
    (void)read_text<OneKey>(text, "a.yaml");
    FAIL();
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_TRUE(what.ends_with("\nand 29,980 more")) << what.substr(what.size() - 60);
    EXPECT_TRUE(what.starts_with("a.yaml:1:1: unknown key 'k0'"));
  }
}

TEST(ReadingGrowth, OfALongWordIsNone) {
  const std::string word(10'000'000, 'a');
  EXPECT_EQ(closest_word(word, {"steps", "ranks"}), "");
  EXPECT_EQ(shortened(word).size(), 203);
  EXPECT_THROW((void)read_text<OneKey>("steps: " + word, "a.yaml"), InputError);
}

TEST(ReadingGrowth, OfNestsEndsAtALevel) {
  const std::string nest = "a: " + std::string(3000, '[') + std::string(3000, ']');
  try {
    (void)read_text<OneKey>(nest, "a.yaml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("nested too deeply: at most 64 levels"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace lockstep
