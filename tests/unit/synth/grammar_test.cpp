#include "synth/grammar.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lockstep::synth {
namespace {

/// A letter a place; brackets open and close ranges.
std::vector<Symbol> sequence(std::string_view text) {
  std::vector<Symbol> symbols;
  for (const char letter : text) {
    const int opens = letter == '(' ? 1 : letter == ')' ? -1 : 0;
    symbols.push_back({static_cast<std::uint64_t>(letter), static_cast<std::int8_t>(opens), 0});
  }
  return symbols;
}

std::string text(const std::vector<Phrase>& phrases, std::string_view from) {
  std::string made;
  for (const Phrase& phrase : phrases) {
    made += phrase.body.empty() ? std::string(1, from[phrase.first])
                                : std::to_string(phrase.count) + "{" + text(phrase.body, from) + "}";
  }
  return made;
}

std::string phrases_of(std::string_view from) {
  return text(repeated_phrases(sequence(from)), from);
}

std::string repeated(std::string_view block, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += block;
  return all;
}

TEST(Grammar, WritesABlockThatIsRepeatedOnce) {
  EXPECT_EQ(phrases_of("xy" + repeated("abcde", 4) + "z"), "xy4{abcde}z");
}

// The longer row is worth more: 3 * 10 places are saved by the outer one, 8 by each inner one.
TEST(Grammar, FindsBlocksWithinBlocks) {
  const std::string inner = repeated("pq", 5);
  EXPECT_EQ(phrases_of(repeated("a" + inner + "b", 4)), "4{a5{pq}b}");
}

// "b(a" is repeated too, but its range is closed elsewhere.
TEST(Grammar, BlocksCloseTheRangesThatTheyOpen) {
  EXPECT_EQ(phrases_of("x" + repeated("(aabb)", 5) + "y"), "x5{(aabb)}y");
  EXPECT_EQ(phrases_of("b)" + repeated("(aacb)", 4) + "(a"), "b)4{(aacb)}(a");
}

TEST(Grammar, LeavesAloneWhatIsNotRepeated) {
  EXPECT_EQ(phrases_of("abcdefgh"), "abcdefgh");
  EXPECT_EQ(phrases_of(""), "");
}

TEST(Grammar, CountsWhatIsCoveredAndWhatIsWritten) {
  const auto phrases = repeated_phrases(sequence("xy" + repeated("abcde", 4)));
  EXPECT_EQ(length_of(phrases), 22U);
  EXPECT_EQ(written_length(phrases), 7U);
}

}  // namespace
}  // namespace lockstep::synth
