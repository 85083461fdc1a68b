#include "calibration/plan_picks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

using Cells = std::vector<std::string>;
using Group = std::vector<const ComparedTime*>;

std::map<Cells, Group> groups_of(const Validation& validation) {
  std::map<Cells, Group> groups;
  for (const ValidationPoint& point : validation.points) {
    Cells cells;
    for (const std::string& column : validation.set.picks->within) {
      const auto place = std::find(validation.columns.begin(), validation.columns.end(), column);
      cells.push_back(point.labels[static_cast<std::size_t>(place - validation.columns.begin())]);
    }
    groups[cells].push_back(&point.step);
  }
  std::erase_if(groups, [](const auto& entry) { return entry.second.size() < 2; });
  return groups;
}

/// How much slower each point was measured than the fastest of the group.
std::vector<double> regrets_of(const Group& group) {
  const auto fastest = *std::min_element(
      group.begin(), group.end(),
      [](const ComparedTime* a, const ComparedTime* b) { return a->measured < b->measured; });
  std::vector<double> regrets;
  for (const ComparedTime* time : group) {
    regrets.push_back(time->measured / fastest->measured - 1);
  }
  return regrets;
}

/// Adds a pick with this regret that is made with this probability.
void add(PickQuality& quality, double regret, double probability, double close) {
  quality.exact += regret > 0 ? 0 : probability;
  quality.close += regret > close ? 0 : probability;
  quality.mean_regret += regret * probability;
  quality.largest_regret = std::max(quality.largest_regret, regret);
}

}  // namespace

std::optional<PlanPicks> plan_picks(const Validation& validation) {
  if (!validation.set.picks) {
    return std::nullopt;
  }
  const auto groups = groups_of(validation);
  if (groups.empty()) {
    return std::nullopt;
  }
  const double close = validation.set.picks->close, share = 1 / static_cast<double>(groups.size());
  PlanPicks picks;
  picks.groups = groups.size();
  for (const auto& [cells, group] : groups) {
    const std::vector<double> regrets = regrets_of(group);
    const auto pick = std::min_element(
        group.begin(), group.end(),
        [](const ComparedTime* a, const ComparedTime* b) { return a->predicted < b->predicted; });
    const double regret = regrets[static_cast<std::size_t>(pick - group.begin())];
    if (picks.worst_group.empty() || regret > picks.ours.largest_regret) {
      picks.worst_group = cells;
    }
    add(picks.ours, regret, share, close);
    for (const double any : regrets) {
      add(picks.chance, any, share / static_cast<double>(group.size()), close);
    }
  }
  return picks;
}

std::string plan_picks_text(const Validation& validation) {
  const auto picks = plan_picks(validation);
  if (!picks) {
    return "";
  }
  const PicksSpec& spec = *validation.set.picks;
  std::string text = fmt::format(
      "picking the fastest of a group (same {}; {} of them)\n"
      "  {:<20}  exact, %  within {:g} %, %  mean regret, %  largest, %\n",
      fmt::join(spec.within, ", "), picks->groups, "", 100 * spec.close);
  const auto row = [&](const char* who, const PickQuality& quality) {
    text += fmt::format("  {:<20}  {:8.1f}  {:>{}.1f}  {:14.1f}  {:10.1f}\n", who, 100 * quality.exact,
                        100 * quality.close, fmt::formatted_size("within {:g} %, %", 100 * spec.close),
                        100 * quality.mean_regret, 100 * quality.largest_regret);
  };
  row("predicted fastest", picks->ours);
  row("any, by chance", picks->chance);
  if (picks->ours.largest_regret > 0) {
    text += fmt::format("  largest: {}\n", fmt::join(picks->worst_group, ", "));
  }
  if (spec.share) {
    text += fmt::format("  aim: within {:g} % in {:g} % of the groups: {}\n", 100 * spec.close,
                        100 * *spec.share, picks->ours.close < *spec.share ? "missed" : "reached");
  }
  return text + '\n';
}

}  // namespace lockstep
