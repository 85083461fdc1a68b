#include "scenario/time_shares.hpp"

#include <algorithm>
#include <functional>

namespace lockstep {
namespace {

constexpr double kRounding = 1e-12;  // of a step: what sums of times may be wrong by

}  // namespace

std::vector<TimeShare> time_shares(const ResolvedScenario& resolved, const SimulationResult& result) {
  const double scale =
      1 / (static_cast<double>(result.metered.size()) * static_cast<double>(resolved.job.steps));
  Activity sum;
  double done = 0;
  for (const MeteredRank& rank : result.metered) {
    done += (result.step_ends.back() - result.ranks[rank.rank].end) * scale;
    sum.compute += rank.activity.compute * scale;
    sum.copy += rank.activity.copy * scale;
    for (std::size_t kind = 0; kind < Activity::kKinds; ++kind) {
      sum.exposed_transfer[kind] += rank.activity.exposed_transfer[kind] * scale;
      sum.exposed_waiting[kind] += rank.activity.exposed_waiting[kind] * scale;
    }
  }
  std::vector<TimeShare> shares{{TimePart::Compute, sum.compute}};
  for (std::size_t kind = 0; kind < Activity::kKinds; ++kind) {
    const auto collective = static_cast<CollectiveKind>(kind);
    shares.push_back({TimePart::Exposed, sum.exposed_transfer[kind], collective});
    shares.push_back({TimePart::Waiting, sum.exposed_waiting[kind], collective});
  }
  shares.push_back({TimePart::Copies, sum.copy});
  const double whole = result.step_ends.back() / static_cast<double>(resolved.job.steps);
  shares.push_back({TimePart::Done, done});
  shares.push_back({TimePart::HostIdle, whole - done - sum.busy()});
  std::erase_if(shares, [&](const TimeShare& share) { return share.seconds <= kRounding * whole; });
  return shares;
}

std::vector<LinkUtilisation> link_utilisation(const ResolvedScenario& resolved,
                                              const SimulationResult& result, std::size_t most) {
  std::vector<LinkUtilisation> links;
  links.reserve(result.links.size());
  for (const LinkUse& use : result.links) {
    const Link& link = resolved.fabric.links()[use.link];
    links.push_back({use.link, use.bytes / static_cast<double>(resolved.job.steps),
                     use.bytes / (link.bandwidth.in_base_units() * result.step_ends.back())});
  }
  const auto is_busier = [](const LinkUtilisation& a, const LinkUtilisation& b) {
    return a.utilisation > b.utilisation;
  };
  if (most < links.size()) {  // those at the border stand in the order of their links, as in a stable sort
    std::vector<double> busiest(links.size());
    std::ranges::transform(links, busiest.begin(), &LinkUtilisation::utilisation);
    std::ranges::nth_element(busiest, busiest.begin() + static_cast<std::ptrdiff_t>(most), std::greater{});
    const double border = busiest[most];
    std::erase_if(links, [border](const LinkUtilisation& link) { return link.utilisation < border; });
  }
  std::ranges::stable_sort(links, is_busier);
  links.resize(std::min(most, links.size()));
  return links;
}

double gpu_busy_per_step(const SimulationResult& result, int steps) {
  double sum = 0;
  for (const MeteredRank& rank : result.metered) {
    sum += rank.activity.busy();
  }
  return sum / (static_cast<double>(result.metered.size()) * steps);
}

}  // namespace lockstep
