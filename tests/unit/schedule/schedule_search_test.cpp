#include "schedule/schedule_search.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    (void)SearchRequest::parse(text);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

TEST(SearchRequest, ReadsItsClauses) {
  const SearchRequest request = SearchRequest::parse(
      "feed_forward in 0.25..0.75 by 0.25, phases <= 3, every 10 %, saved_flops <= 30 %, full >= 0.2");
  EXPECT_EQ(request.group, LayerGroup::FeedForward);
  EXPECT_DOUBLE_EQ(request.least, 0.25);
  EXPECT_DOUBLE_EQ(request.most, 0.75);
  EXPECT_DOUBLE_EQ(request.step, 0.25);
  EXPECT_EQ(request.phases, 3U);
  EXPECT_DOUBLE_EQ(request.every, 0.1);
  EXPECT_DOUBLE_EQ(request.most_flops_saved.value(), 0.3);
  EXPECT_DOUBLE_EQ(request.full, 0.2);
}

TEST(SearchRequest, TellsWhatIsWrongWithAClause) {
  EXPECT_THAT(refusal("phases <= 3"), HasSubstr("which layer group"));
  EXPECT_THAT(refusal("top_mpl in 0.25..1"), HasSubstr("did you mean 'top_mlp'?"));
  EXPECT_THAT(refusal("top_mlp in 2..3"), HasSubstr("shares are above 0 and at most 1"));
  EXPECT_THAT(refusal("top_mlp in 0.25..1, phases = 3"), HasSubstr("phases <= N"));
  EXPECT_THAT(refusal("top_mlp in 0.25..1, every 30 %"), HasSubstr("a part of 100 %"));
  EXPECT_THAT(refusal("top_mlp in 0.25..1, saved_flops <= 3 %, saved_flops >= 1 %"),
              HasSubstr("from one side"));
}

}  // namespace
}  // namespace lockstep
