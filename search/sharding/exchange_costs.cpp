#include "search/sharding/exchange_costs.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace lockstep::sharding {
namespace {

constexpr double kWidth = 1024;  // wide enough that latency does not matter

/// One rank holds everything.
CollectivePlan plan_of(const CollectivePlanner& planner, std::span<const VertexId> ranks, std::size_t holder,
                       Bytes sample, bool backward) {
  const std::size_t n = ranks.size();
  CollectiveRequest request{
      .kind = CollectiveKind::AllToAll, .type = DataType::FP32, .size = {}, .bytes = {}};
  request.bytes.assign(n * n, 0);
  for (std::size_t peer = 0; peer < n; ++peer) {
    const std::size_t entry = backward ? peer * n + holder : holder * n + peer;
    request.bytes[entry] = kWidth * (sample / Bytes{1});
  }
  request.size = static_cast<double>(n) * kWidth * sample;
  return planner.plan(request, ranks);
}

}  // namespace

ExchangeCosts::ExchangeCosts(const CollectivePlanner& planner, const Fabric& fabric,
                             std::span<const VertexId> ranks, Bytes sample, bool backward) {
  if (ranks.size() < 2) {
    return;
  }
  std::map<LinkId, std::vector<double>> of_link;
  double slack = 0;
  for (std::size_t holder = 0; holder < ranks.size(); ++holder) {
    const CollectivePlan plan = plan_of(planner, ranks, holder, sample, backward);
    double busiest = 0;
    for (const LinkLoad& load : plan.loads) {
      const double seconds = load.share * plan.size / fabric.links()[load.link].bandwidth / Seconds{1};
      std::vector<double>& of_rank = of_link[load.link];
      of_rank.resize(ranks.size());
      of_rank[holder] = seconds / kWidth;
      busiest = std::max(busiest, seconds);
    }
    latency_ = std::max(latency_, plan.latency);
    slack += (time_alone(plan, fabric) - plan.latency) / Seconds{busiest};
  }
  slack_ = slack / static_cast<double>(ranks.size());
  for (auto& [link, of_rank] : of_link) {
    add_form(of_rank);
  }
}

/// A form that is nowhere above another one never decides.
void ExchangeCosts::add_form(const std::vector<double>& form) {
  const auto is_below = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, std::less_equal{});
  };
  if (std::ranges::any_of(seconds_, [&](const auto& known) { return is_below(form, known); })) {
    return;
  }
  std::erase_if(seconds_, [&](const auto& known) { return is_below(known, form); });
  seconds_.push_back(form);
}

Seconds ExchangeCosts::operator()(std::span<const double> widths) const {
  double busiest = 0;
  for (const std::vector<double>& of_rank : seconds_) {
    double seconds = 0;
    for (std::size_t rank = 0; rank < widths.size(); ++rank) {
      seconds += of_rank[rank] * widths[rank];
    }
    busiest = std::max(busiest, seconds);
  }
  return latency_ + Seconds{slack_ * busiest};
}

Seconds ExchangeCosts::at_least(double width) const {
  // The busiest link takes no less than the mean one, and that no less than where it is cheapest to send
  // from.
  if (seconds_.empty()) {
    return latency_;
  }
  std::vector<double> mean(seconds_.front().size());
  for (const std::vector<double>& of_rank : seconds_) {
    for (std::size_t rank = 0; rank < mean.size(); ++rank) {
      mean[rank] += of_rank[rank] / static_cast<double>(seconds_.size());
    }
  }
  return latency_ + Seconds{slack_ * width * *std::ranges::min_element(mean)};
}

}  // namespace lockstep::sharding
