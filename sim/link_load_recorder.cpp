#include "sim/link_load_recorder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kLeftOut = std::numeric_limits<std::size_t>::max();
constexpr double kRateRounding = 1e-9;  // of a link's bandwidth

double rate_of(const LinkLoads& loads) {
  return loads.changes.empty() ? 0.0 : loads.changes.back().rate;
}

/// The part between two dates. @p end of the last change's rate
LinkLoads cut(const LinkLoads& loads, double from, double until) {
  LinkLoads part{loads.link, 0, {}};
  for (std::size_t i = 0; i < loads.changes.size(); ++i) {
    const LoadChange& change = loads.changes[i];
    const double begin = std::max(change.date, from);
    const double end = std::min(i + 1 < loads.changes.size() ? loads.changes[i + 1].date : until, until);
    if (begin >= end) {
      continue;
    }
    part.bytes += change.rate * (end - begin);
    part.changes.push_back({begin, change.rate});
  }
  part.changes.push_back({until, 0});
  return part;
}

/// Makes one change of each two neighbours, their mean. The last change stays, for the date and the rate that
/// the next one counts from.
void halve(LinkLoads& loads) {
  if (loads.changes.empty()) {
    return;
  }
  std::vector<LoadChange> fewer;
  const std::size_t last = loads.changes.size() - 1;
  for (std::size_t i = 0; i < last; i += 2) {
    const LoadChange& first = loads.changes[i];
    const LoadChange& second = loads.changes[i + 1];
    if (i + 1 == last) {
      fewer.push_back(first);
      continue;
    }
    const double end = loads.changes[i + 2].date;
    const double bytes = first.rate * (second.date - first.date) + second.rate * (end - second.date);
    fewer.push_back({first.date, bytes / (end - first.date)});
  }
  fewer.push_back(loads.changes.back());
  loads.changes = std::move(fewer);
}

std::size_t changes_of(const std::vector<LinkLoads>& all) {
  std::size_t changes = 0;
  for (const LinkLoads& loads : all) {
    changes += loads.changes.size();
  }
  return changes;
}

}  // namespace

LinkLoadRecorder::LinkLoadRecorder(const Fabric& fabric, const LinkLoadLimits& limits)
    : limits_{limits}, place_of_(fabric.links().size(), kLeftOut) {
  for (LinkId link = 0; link < fabric.links().size(); ++link) {
    least_.push_back(kRateRounding * fabric.links()[link].bandwidth.in_base_units());
    place_of_[link] = loads_.size();
    loads_.push_back({link, 0, {}});
  }
}

void LinkLoadRecorder::add(LinkId link, double more, double date) {
  if (place_of_[link] == kLeftOut) {
    return;
  }
  LinkLoads& loads = loads_[place_of_[link]];
  const double before = rate_of(loads);
  const double rate = before + more < least_[link] ? 0.0 : before + more;
  if (!loads.changes.empty()) {
    loads.bytes += before * (date - loads.changes.back().date);
    if (loads.changes.back().date == date) {
      loads.changes.back().rate = rate;
      return;
    }
  }
  loads.changes.push_back({date, rate});
  if (++changes_ > limits_.recorded) {
    leave_out();
  }
}

void LinkLoadRecorder::leave_out() {
  if (loads_.size() > limits_.links) {
    std::ranges::stable_sort(loads_, std::ranges::greater{}, &LinkLoads::bytes);
    loads_.resize(std::max(limits_.links, loads_.size() / 2));
    std::ranges::fill(place_of_, kLeftOut);
    for (std::size_t place = 0; place < loads_.size(); ++place) {
      place_of_[loads_[place].link] = place;
    }
  } else {
    std::ranges::for_each(loads_, halve);
  }
  changes_ = changes_of(loads_);
}

std::vector<LinkLoads> LinkLoadRecorder::busiest(double from, double until) const {
  std::vector<LinkLoads> busy;
  for (const LinkLoads& loads : loads_) {
    LinkLoads part = cut(loads, from, until);
    if (part.bytes > 0) {
      busy.push_back(std::move(part));
    }
  }
  std::ranges::stable_sort(busy, std::ranges::greater{}, &LinkLoads::bytes);
  busy.resize(std::min(busy.size(), limits_.links));
  while (changes_of(busy) > std::max(limits_.shown, 2 * busy.size())) {
    std::ranges::for_each(busy, halve);
  }
  return busy;
}

}  // namespace lockstep
