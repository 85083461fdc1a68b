#include "sim/network/shared.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

// A link counts as one that may be full from here on, in units of SharedNetwork::kFull: far more below it
// than the rounding of many rates.
constexpr std::uint64_t kNearlyFull = 1U << 12U;

}  // namespace

SharedNetwork::SharedNetwork(const Fabric& fabric) {
  links_.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) {
    links_.emplace_back().capacity = link.bandwidth.in_base_units();
  }
}

void SharedNetwork::prepare(const CollectivePlan& plan) {
  shape_of(plan);
}

const SharedNetwork::Shape& SharedNetwork::shape_of(const CollectivePlan& plan) {
  const auto known = shapes_.find(&plan);
  if (known != shapes_.end()) {
    return *known->second;
  }
  const double unit = unit_of(plan);
  Shape shape{{}, {}, unit, plan.rate_cap.in_base_units() * unit};
  for (const LinkLoad& load : plan.loads) {
    const LinkWeight weight = link_weight(load.share, unit);
    if (!shape.all.empty() && shape.all.back().link == load.link) {  // folded groups add up
      shape.all.back().weight += weight;
    } else {
      shape.all.push_back({load.link, weight});
    }
  }
  shape.bound = bound_of(shape);
  auto& alike = distinct_[shape.all];
  const auto same = std::find_if(alike.begin(), alike.end(), [&](const Shape* other) {
    return other->unit == shape.unit && other->bound == shape.bound;
  });
  if (same != alike.end()) {
    return *(shapes_[&plan] = *same);
  }
  merged_ = false;
  alike.push_back(owned_.emplace_back(std::make_unique<Shape>(std::move(shape))).get());
  return *(shapes_[&plan] = alike.back());
}

/// The plan's cap, or the rate at which its own weights fill a link.
double SharedNetwork::bound_of(const Shape& shape) const {
  double bound = shape.bound;
  for (const Use& use : shape.all) {
    if (const double weight = use.weight.value(); weight > kTolerance) {
      bound = std::min(bound, links_[use.link].capacity / weight);
    }
  }
  return bound;
}

std::uint64_t SharedNetwork::fill_of(const Shape& shape, const Use& use) const {
  const double part = use.weight.value() * shape.bound / links_[use.link].capacity;
  return static_cast<std::uint64_t>(std::ceil(std::min(part, 1.0) * static_cast<double>(kFull)));
}

bool SharedNetwork::may_be_full(const LinkState& link) {
  return link.users.size() > 1 && link.fill > kFull - kNearlyFull;
}

/// Links crossed by exactly the same shapes with the same weights bind together: the narrowest stands for
/// all. Flights in the air are moved over to the new uses.
void SharedNetwork::merge_links() {
  merged_ = true;
  std::vector<Index> flying;
  for (Index flight = 0; flight < flights_.size(); ++flight) {
    if (flights_[flight].shape != nullptr) {
      flying.push_back(flight);
      release(flight);
    }
  }
  std::vector<std::vector<std::pair<Index, LinkWeight>>> crossing(links_.size());
  Index number = 0;
  for (const auto& [uses, shapes] : distinct_) {  // shapes of equal uses cross the same links
    for (const Use& use : uses) {
      crossing[use.link].emplace_back(number, use.weight);
    }
    ++number;
  }
  std::map<std::vector<std::pair<Index, LinkWeight>>, Index> narrowest;
  for (Index link = 0; link < links_.size(); ++link) {
    if (!crossing[link].empty()) {
      const auto [entry, fresh] = narrowest.try_emplace(crossing[link], link);
      if (!fresh && links_[link].capacity < links_[entry->second].capacity) {
        entry->second = link;
      }
    }
  }
  std::vector<bool> stands(links_.size(), false);
  for (const auto& [key, link] : narrowest) {
    stands[link] = true;
  }
  for (const auto& shape : owned_) {
    shape->uses.clear();
    for (const Use& use : shape->all) {
      if (stands[use.link]) {
        shape->uses.push_back(use);
      }
    }
  }
  for (const Index flight : flying) {
    occupy(flight);
  }
}

void SharedNetwork::occupy(Index index) {
  Flight& flight = flights_[index];
  flight.places.clear();
  for (const Use& use : flight.shape->uses) {
    auto& users = links_[use.link].users;
    flight.places.push_back(static_cast<Index>(users.size()));
    users.push_back({index, use.weight});
    links_[use.link].fill += fill_of(*flight.shape, use);
  }
}

void SharedNetwork::release(Index index) {
  const Flight& flight = flights_[index];
  const auto& uses = flight.shape->uses;
  for (std::size_t i = 0; i < flight.places.size(); ++i) {
    auto& users = links_[uses[i].link].users;
    const User last = users.back();
    const Index moved = last.flight;
    users[flight.places[i]] = last;
    users.pop_back();
    links_[uses[i].link].fill -= fill_of(*flight.shape, uses[i]);
    if (moved != index) {
      const auto& theirs = flights_[moved].shape->uses;
      const auto at = std::lower_bound(theirs.begin(), theirs.end(), uses[i].link,
                                       [](const Use& use, Index link) { return use.link < link; });
      flights_[moved].places[static_cast<std::size_t>(at - theirs.begin())] = flight.places[i];
    }
  }
}

void SharedNetwork::touch(Index flight, double date) {
  dirty_.push_back(flight);
  dirty_date_ = date;
}

/// A flight has left a link that may have been full: who got no less than those that ended may get more. One
/// of them reaches the others over a link that still may be full.
void SharedNetwork::touch_users(const LinkState& link, double date) {
  for (const User& user : link.users) {
    if (flights_[user.flight].level >= ended_level_ * (1 - kBelow)) {
      touch(user.flight, date);
      if (may_be_full(link)) {
        return;
      }
    }
  }
}

void SharedNetwork::start(TransferId transfer, const CollectivePlan& plan,
                          std::span<const VertexId> /*members*/, double date) {
  const Shape& shape = shape_of(plan);
  if (!merged_) {
    merge_links();
  }
  if (!dirty_.empty() && date > dirty_date_) {
    settle();
  }
  Index index = 0;
  if (free_.empty()) {
    index = static_cast<Index>(flights_.size());
    flights_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Flight& flight = flights_[index];
  flight.shape = &shape;
  flight.transfer = transfer;
  flight.remaining = plan.size.in_base_units() * shape.unit;
  flight.rate = 0;
  flight.since = date;
  flight.level = kUnsolved;
  occupy(index);
  touch(index, date);
}

double SharedNetwork::next_completion() {
  if (!completes_by(dirty_date_)) {
    settle();
    drop_stale();
  }
  return heap_.empty() ? kNever : heap_.front().date;
}

bool SharedNetwork::completes_by(double date) {
  drop_stale();
  return !heap_.empty() && heap_.front().date <= date;
}

TransferId SharedNetwork::complete_next() {
  const Completion done = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  Flight& flight = flights_[done.flight];
  ++flight.version;
  if (!dirty_.empty() && done.date > dirty_date_) {
    settle();
  }
  ended_level_ = std::min(ended_level_, flight.level);
  left_links_.clear();
  for (const Use& use : flight.shape->uses) {
    if (may_be_full(links_[use.link])) {
      left_links_.push_back(use.link);
    }
  }
  release(done.flight);
  for (const Index link : left_links_) {
    touch_users(links_[link], done.date);
  }
  if (observer_) {
    tell_loads(*flight.shape, -flight.rate, done.date);
  }
  flight.shape = nullptr;
  flight.places.clear();
  free_.push_back(done.flight);
  return flight.transfer;
}

void SharedNetwork::drop_stale() {
  while (!heap_.empty() && flights_[heap_.front().flight].version != heap_.front().version) {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
}

void SharedNetwork::set_rate(Index index, double rate, double date) {
  Flight& flight = flights_[index];
  if (std::abs(flight.rate - rate) <= kTolerance * flight.rate) {
    return;
  }
  flight.remaining = std::max(0.0, flight.remaining - flight.rate * (date - flight.since));
  flight.since = date;
  if (observer_) {
    tell_loads(*flight.shape, rate - flight.rate, date);
  }
  flight.rate = rate;
  ++flight.version;
  const double left = flight.remaining > 0 ? flight.remaining / rate : 0;
  heap_.push_back({date + left, index, flight.version});
  std::push_heap(heap_.begin(), heap_.end());
}

void SharedNetwork::tell_loads(const Shape& shape, double more, double date) const {
  for (const Use& use : shape.all) {
    observer_(use.link, use.weight.value() * more, date);
  }
}

}  // namespace lockstep
