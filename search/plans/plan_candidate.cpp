#include "search/plans/plan_candidate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/parameters.hpp"

namespace lockstep {

int stage_stride(const PlanCandidate& candidate) {
  const TransformerPlanSpec& plan = candidate.plan;
  int stride = 1;
  for (std::size_t at = 0; at < plan.rank_order.size(); at += 3) {
    const std::string part = plan.rank_order.substr(at, 2);
    if (part == "pp") {
      break;
    }
    stride *= part == "tp" ? plan.tensor : part == "cp" ? plan.context : candidate.data;
  }
  return stride;
}

namespace {

/// `9-9-9-6`, with many of a kind one behind the other `5x14-4`: fourteen of 5 and a 4.
std::string layers_in_words(const std::vector<std::int64_t>& layers) {
  constexpr std::ptrdiff_t kMany = 4;
  std::string text;
  for (auto begin = layers.begin(); begin != layers.end();) {
    const auto end = std::find_if(begin, layers.end(), [&](std::int64_t count) { return count != *begin; });
    const bool are_many = end - begin >= kMany;
    text += fmt::format("{}{}{}", text.empty() ? "" : "-", *begin,
                        are_many ? fmt::format("x{}", end - begin) : "");
    begin = are_many ? end : begin + 1;
  }
  return text;
}

}  // namespace

std::string in_words(const PlanCandidate& candidate) {
  const TransformerPlanSpec& plan = candidate.plan;
  std::string text = fmt::format("tp {} dp {} pp {}", plan.tensor, candidate.data, plan.pipeline);
  if (plan.context > 1) {
    text += fmt::format(" cp {}", plan.context);
  }
  if (plan.expert > 1) {
    text += fmt::format(" ep {}", plan.expert);
  }
  text += fmt::format(", micro-batch {}", candidate.micro_batch);
  if (plan.pipeline > 1) {
    text += fmt::format(", {}", name_of(plan.schedule));
  }
  if (plan.chunks > 1) {
    text += fmt::format(" x {}", plan.chunks);
  }
  if (!plan.stage_layers.empty()) {
    text += fmt::format(", layers {}", layers_in_words(plan.stage_layers));
  }
  if (plan.sequence_parallel) {
    text += ", sequence parallel";
  }
  if (plan.tensor_overlap) {
    text += ", tensor overlap";
  }
  if (plan.sharding != Sharding::None) {
    text += fmt::format(", {}", name_of(plan.sharding));
  }
  if (plan.shard_group) {
    text += fmt::format(" in groups of {}", *plan.shard_group);
  }
  if (plan.copies() != Zero3Implementation::None) {
    text += fmt::format(" ({})", name_of(plan.copies()));
  }
  if (!plan.reshard_after_forward) {
    text += ", parameters kept after forward";
  }
  if (plan.recompute != Recompute::None) {
    text += fmt::format(", recompute {}", name_of(plan.recompute));
    text += plan.recompute_every == 1 ? "" : fmt::format(" of one in {}", plan.recompute_every);
  }
  if (plan.offload != Offload::None) {
    text += fmt::format(", offload {}", name_of(plan.offload));
  }
  return text;
}

}  // namespace lockstep
