#include "traces/json_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

std::string written(auto write) {
  std::array<char, 64> room{};
  JsonCursor json{room.data()};
  write(json);
  return {room.data(), json.at()};
}

TEST(JsonCursor, WritesMicrosecondsExactToTheNanosecond) {
  EXPECT_EQ(written([](JsonCursor& json) { json.microseconds(0); }), "0.000");
  EXPECT_EQ(written([](JsonCursor& json) { json.microseconds(7); }), "0.007");
  EXPECT_EQ(written([](JsonCursor& json) { json.microseconds(1'234'050); }), "1234.050");
  // A day of nanoseconds, plus one.
  EXPECT_EQ(written([](JsonCursor& json) { json.microseconds(86'400'000'000'001); }), "86400000000.001");
}

TEST(JsonCursor, WritesNumbersOfAllSizes) {
  EXPECT_EQ(written([](JsonCursor& json) { json.number(0).text(",").number(18446744073709551615U); }),
            "0,18446744073709551615");
}

TEST(JsonString, SurvivesAParser) {
  const std::string nasty = "void f<\"a\\b\">(char)\n\t\x01 µs";
  EXPECT_EQ(nlohmann::json::parse(json_string(nasty)).get<std::string>(), nasty);
}

}  // namespace
}  // namespace lockstep
