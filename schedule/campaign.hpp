#pragma once

/// @file
/// How long a training takes with its checkpoints and failures.

#include <cstdint>

namespace lockstep {

/// A training with checkpoints and failures. Times in seconds.
struct CampaignTask {
  double work = 0;      ///< of training alone
  double interval = 0;  ///< of work between two checkpoints; 0: there are none
  double write = 0;     ///< that training stands still for a checkpoint
  double rate = 0;      ///< of failures, 1/s: nodes / mtbf_per_node; 0: none
  double restart = 0;   ///< from a failure until work goes on from the last checkpoint
};

struct CampaignTimes {
  double expected = 0;  ///< s
  double in_checkpoints = 0;
  double lost = 0;      ///< work that is done again, and restarts
  double failures = 0;  ///< expected number
  double checkpoints = 0;
  double work = 0;

  [[nodiscard]] double goodput() const { return expected > 0 ? work / expected : 1; }
};

/// Expected times with failures as a Poisson process of rate L, which strike work, checkpoints and restarts
/// alike. Of a segment of s = interval + write
///
///   E(s) = exp(L restart) (exp(L s) - 1) / L          s where nothing fails
///
/// and the campaign is work / interval of them, the last one shorter; a checkpoint ends each.
/// *Source*: Daly, Future Generation Computer Systems 22 (2006) 303, the complete model.
[[nodiscard]] CampaignTimes campaign_times(const CampaignTask& task);

/// Young's first-order optimum of the interval: sqrt(2 write / rate). *Source*: Young, CACM 17 (1974) 530.
[[nodiscard]] double young_interval(double write, double rate);

/// Daly's: with M = 1 / rate and x = write / (2 M), sqrt(2 write M) (1 + sqrt(x) / 3 + x / 9) - write, M from
/// write = 2 M on. *Source*: as campaign_times(), the higher-order estimate.
[[nodiscard]] double daly_interval(double write, double rate);

struct DrawnCampaigns {
  double mean = 0;   ///< s
  double error = 0;  ///< standard error of the mean, s
  double p5 = 0, p95 = 0;
};

/// Draws the events of a campaign @p trials times: failures at exponential times, each with the loss of the
/// work since the last checkpoint, and a restart that may fail too. Equal seeds give equal numbers.
[[nodiscard]] DrawnCampaigns drawn_campaigns(const CampaignTask& task, int trials, std::uint64_t seed);

}  // namespace lockstep
