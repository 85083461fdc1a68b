#include "schedule/attribution.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace lockstep {
namespace {

constexpr std::size_t at(StepPart part) {
  return static_cast<std::size_t>(part);
}

StepParts parts_of(double products, double embedding, double host) {
  StepParts parts{};
  parts[at(StepPart::Products)] = products;
  parts[at(StepPart::Embedding)] = embedding;
  parts[at(StepPart::Host)] = host;
  return parts;
}

// A full step of 10 ms: 6 of products, 3 of embedding, 1 of host. Half of the FLOPs promise 5 ms. The phase
// takes 3.5 + 3 + 1 = 7.5 ms: products lose 0.5 (narrow tiles), embedding 1.5, host 0.5, together 2.5 = 7.5
// - 5.
TEST(Attribution, LossesAddUpToWhatTheStepTakesBeyondItsFlops) {
  const auto all = losses(parts_of(3.5e-3, 3e-3, 1e-3), parts_of(6e-3, 3e-3, 1e-3), 0.5);
  EXPECT_NEAR(all[at(StepPart::Products)].seconds, 0.5e-3, 1e-15);
  EXPECT_NEAR(all[at(StepPart::Embedding)].seconds, 1.5e-3, 1e-15);
  EXPECT_NEAR(all[at(StepPart::Host)].seconds, 0.5e-3, 1e-15);
  const double sum = std::accumulate(all.begin(), all.end(), 0.0,
                                     [](double s, const Loss& loss) { return s + loss.seconds; });
  EXPECT_NEAR(sum, 7.5e-3 - 0.5 * 10e-3, 1e-15);
}

TEST(Attribution, ThePartsOfAPathAddUpToTheStep) {
  const StepParts scaled = scaled_to(parts_of(2, 1, 1), 8e-3);
  EXPECT_DOUBLE_EQ(scaled[at(StepPart::Products)], 4e-3);
  EXPECT_NEAR(std::accumulate(scaled.begin(), scaled.end(), 0.0), 8e-3, 1e-18);
  EXPECT_DOUBLE_EQ(scaled_to(StepParts{}, 8e-3)[at(StepPart::Products)], 8e-3);
}

}  // namespace
}  // namespace lockstep
