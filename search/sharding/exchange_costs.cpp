#include "search/sharding/exchange_costs.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace lockstep::sharding {
namespace {

constexpr double kWidth = 1024;  // wide enough that latency does not matter

/// The plan of an all-to-all in which rank i holds @p widths[i].
CollectivePlan plan_of(const CollectivePlanner& planner, std::span<const VertexId> ranks,
                       const std::vector<double>& widths, Bytes sample, bool backward) {
  CollectiveRequest request{
      .kind = CollectiveKind::AllToAll, .type = DataType::FP32, .size = {}, .bytes = {}};
  double all = 0;
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      request.bytes.push_back(widths[backward ? to : from] * (sample / Bytes{1}));
      all += request.bytes.back();
    }
  }
  request.size = Bytes{all / static_cast<double>(ranks.size())};
  return planner.plan(request, ranks);
}

double seconds_on_link(const CollectivePlan& plan, const LinkLoad& load, const Fabric& fabric) {
  return load.share * plan.size / fabric.links()[load.link].bandwidth / Seconds{1};
}

/// How much longer a plan takes than its busiest link.
double slack_of(const CollectivePlan& plan, const Fabric& fabric) {
  double busiest = 0;
  for (const LinkLoad& load : plan.loads) {
    busiest = std::max(busiest, seconds_on_link(plan, load, fabric));
  }
  return (time_alone(plan, fabric) - plan.latency) / Seconds{busiest};
}

}  // namespace

ExchangeCosts::ExchangeCosts(const CollectivePlanner& planner, const Fabric& fabric,
                             std::span<const VertexId> ranks, Bytes sample, bool backward) {
  const std::size_t n = ranks.size();
  if (n < 2) {
    return;
  }
  const CollectivePlan even = plan_of(planner, ranks, std::vector<double>(n, kWidth), sample, backward);
  const double slack = slack_of(even, fabric);
  latency_ = even.latency;
  std::map<LinkId, std::vector<double>> of_link;
  for (std::size_t holder = 0; holder < n; ++holder) {
    std::vector<double> widths(n, 0);
    widths[holder] = kWidth;
    const CollectivePlan plan = plan_of(planner, ranks, widths, sample, backward);
    for (const LinkLoad& load : plan.loads) {
      std::vector<double>& of_rank = of_link[load.link];
      of_rank.resize(n);
      of_rank[holder] = slack * seconds_on_link(plan, load, fabric) / kWidth;
    }
    std::vector<double> alone(n, 0);
    alone[holder] = (time_alone(plan, fabric) - plan.latency) / Seconds{kWidth};
    add_form(alone);
  }
  for (const auto& [link, of_rank] : of_link) {
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
  return latency_ + Seconds{busiest};
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
  return latency_ + Seconds{width * *std::ranges::min_element(mean)};
}

}  // namespace lockstep::sharding
