#include "schedule/campaign.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace lockstep {
namespace {

// 10 h of work, a checkpoint of 36 s each hour, nothing fails: ten checkpoints, 36,360 s.
TEST(Campaign, WithoutFailuresItIsWorkAndCheckpoints) {
  const CampaignTimes times = campaign_times({36000, 3600, 36, 0, 0});
  EXPECT_DOUBLE_EQ(times.checkpoints, 10);
  EXPECT_DOUBLE_EQ(times.expected, 36360);
  EXPECT_DOUBLE_EQ(times.goodput(), 36000.0 / 36360);
  EXPECT_DOUBLE_EQ(drawn_campaigns({36000, 3600, 36, 0, 0}, 10, 1).mean, 36360);
}

// Daly's model for one segment of 1000 s with a failure each 2000 s and restarts of 100 s:
// exp(0.05) (exp(0.5) - 1) x 2000 = 1363.9 s.
TEST(Campaign, OneSegmentByHand) {
  const CampaignTimes times = campaign_times({1000, 0, 0, 1 / 2000.0, 100});
  EXPECT_NEAR(times.expected, std::exp(0.05) * (std::exp(0.5) - 1) * 2000, 1e-9);
  EXPECT_NEAR(times.lost, times.expected - 1000, 1e-9);
}

TEST(Campaign, TheLastSegmentIsShorter) {
  const CampaignTask task{2500, 1000, 10, 1e-4, 60};
  const auto segment = [](double seconds) { return std::exp(1e-4 * 60) * std::expm1(1e-4 * seconds) / 1e-4; };
  EXPECT_NEAR(campaign_times(task).expected, 2 * segment(1010) + segment(510), 1e-9);
  EXPECT_DOUBLE_EQ(campaign_times(task).checkpoints, 3);
}

TEST(Campaign, DrawnCampaignsAgreeWithTheClosedForm) {
  for (const CampaignTask& task :
       {CampaignTask{200000, 3600, 60, 1 / 20000.0, 600}, CampaignTask{50000, 5000, 200, 1 / 6000.0, 1500}}) {
    const DrawnCampaigns drawn = drawn_campaigns(task, 4000, 7);
    EXPECT_NEAR(drawn.mean, campaign_times(task).expected, 4 * drawn.error);
    EXPECT_LT(drawn.p5, drawn.mean);
    EXPECT_GT(drawn.p95, drawn.mean);
  }
}

TEST(Campaign, TheSameSeedDrawsTheSameCampaigns) {
  const CampaignTask task{200000, 3600, 60, 1 / 20000.0, 600};
  EXPECT_EQ(drawn_campaigns(task, 100, 3).mean, drawn_campaigns(task, 100, 3).mean);
  EXPECT_NE(drawn_campaigns(task, 100, 3).mean, drawn_campaigns(task, 100, 4).mean);
}

TEST(Campaign, NoIntervalIsMuchBetterThanDalys) {
  const double write = 60, rate = 1 / 20000.0;
  EXPECT_DOUBLE_EQ(young_interval(write, rate), std::sqrt(2 * 60 * 20000.0));
  const double daly = daly_interval(write, rate);
  const auto expected = [&](double interval) {
    return campaign_times({100 * interval, interval, write, rate, 600}).expected / (100 * interval);
  };
  for (const double other : {0.5, 0.7, 0.9, 1.1, 1.4, 2.0}) {
    EXPECT_LT(expected(daly), expected(other * daly)) << other;
  }
}

}  // namespace
}  // namespace lockstep
