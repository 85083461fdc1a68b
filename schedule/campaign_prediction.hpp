#pragma once

#include "base/error.hpp"
#include "scenario/campaign_spec.hpp"
#include "schedule/campaign.hpp"

namespace lockstep {

/// A training with its checkpoints and failures; and the full model's.
struct CampaignPrediction {
  CampaignTask task, dense_task;
  CampaignTimes times, dense;
  DrawnCampaigns drawn;
  double recurring = 0;  ///< s, of the full model, behind either
  bool is_interval_chosen = false;
};

/// The training of a campaign, and the machine that it runs on.
struct CampaignWork {
  double seconds = 0, dense_seconds = 0;  ///< of training alone
  double full_step = 0;                   ///< s
  int nodes = 1;
  std::uint64_t seed = 1;
};

/// @param at where the scenario says `campaign`
/// @throws InputError where segments between checkpoints are so long that hardly one ends without a failure
[[nodiscard]] CampaignPrediction predict_campaign(const CampaignSpec& spec, const CampaignWork& work,
                                                  const SourceLocation& at);

}  // namespace lockstep
