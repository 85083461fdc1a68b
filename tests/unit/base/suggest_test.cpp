#include "base/suggest.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ClosestWord, IsTheOneWithTheFewestChanges) {
  EXPECT_EQ(closest_word("pipline", {"tensor", "pipeline"}), "pipeline");
  EXPECT_EQ(closest_word("schedules", {"tensor", "pipeline"}), "");
}

TEST(ClosestWord, KnowsWhatOtherFrameworksCallIt) {
  EXPECT_EQ(closest_word("tensor_parallel", {"sequence_parallel", "tensor"}), "tensor");
  EXPECT_EQ(closest_word("Gradient Checkpointing", {"recompute"}), "recompute");
  EXPECT_EQ(closest_word("tp", {"pp"}), "") << "what it is here is not known there";
}

TEST(DidYouMean, ListsAllWhereNothingIsClose) {
  EXPECT_EQ(did_you_mean("fsdp", {"none", "zero3"}), " - did you mean 'zero3'?");
  EXPECT_EQ(did_you_mean("x", {"none", "zero3"}), " (one of: none, zero3)");
}

}  // namespace
}  // namespace lockstep
