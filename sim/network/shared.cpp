#include "sim/network/shared.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

// Rates closer than this are equal: far below what a link can be told apart by, far above rounding.
constexpr double kTolerance = 1e-12;

// A link counts as one that may be full from here on, in units of SharedNetwork::kFull: far more below it
// than the rounding of many rates.
constexpr std::uint64_t kNearlyFull = 1U << 12U;

// Filling starts so far below the level that a change reaches, relative: far more than the level's rounding.
constexpr double kBelow = 1e-6;

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

/// The level at which the users of a link fill it, when those that have a rate keep it. Infinite: they do
/// not.
double SharedNetwork::full_at(const LinkState& link) {
  stops_.clear();
  LinkWeight rising;
  for (const User& user : link.users) {
    const Flight& flight = flights_[user.flight];
    stops_.push_back({std::min(flight.level, flight.shape->bound), user.weight});
    rising += user.weight;
  }
  std::ranges::sort(stops_, {}, &Stop::level);
  double room = link.capacity;
  for (const Stop& stop : stops_) {
    if (const double demand = rising.value(); demand > kTolerance && room <= stop.level * demand) {
      return std::max(0.0, room / demand);
    }
    room -= stop.weight.value() * stop.level;
    rising -= stop.weight;
  }
  return kUnsolved;
}

/// The lowest level that changes since the latest solve reach: of those that ended, and of full links of
/// those that began.
double SharedNetwork::changes_from() {
  double from = std::exchange(ended_level_, kUnsolved);
  for (const Index index : dirty_) {
    if (flights_[index].shape == nullptr || flights_[index].level < kUnsolved) {
      continue;
    }
    for (const Use& use : flights_[index].shape->uses) {
      if (const LinkState& link = links_[use.link]; may_be_full(link)) {
        from = std::min(from, full_at(link));
      }
    }
  }
  return from * (1 - kBelow);
}

/// Solves each connected component that changed, all changes of one date together.
void SharedNetwork::settle() {
  if (dirty_.empty()) {
    ended_level_ = kUnsolved;
    return;
  }
  ++mark_;
  const double from = changes_from();
  std::vector<Index> changed;
  changed.swap(dirty_);
  for (const Index flight : changed) {
    if (flights_[flight].shape != nullptr && flights_[flight].mark != mark_) {
      collect_component(flight, from);
      solve(dirty_date_, from);
    }
  }
  changed.clear();
  dirty_.swap(changed);  // keeps its memory
}

/// @param from flights of lower levels are left out
void SharedNetwork::collect_component(Index first, double from) {
  component_.assign(1, first);
  component_links_.clear();
  flights_[first].mark = mark_;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    for (const Use& use : flights_[component_[i]].shape->uses) {
      LinkState& link = links_[use.link];
      if (link.mark == mark_ || !may_be_full(link)) {
        continue;
      }
      link.mark = mark_;
      component_links_.push_back(use.link);
      for (const User& user : link.users) {
        Flight& neighbour = flights_[user.flight];
        if (neighbour.mark != mark_ && neighbour.level >= from) {
          neighbour.mark = mark_;
          component_.push_back(user.flight);
        }
      }
    }
  }
}

/// As the rounds below the level @p from leave it: they are those of the solve before.
void SharedNetwork::begin_filling(LinkState& link, double from) {
  link.room = link.capacity;
  link.weight = link.taken = {};
  link.waiting = 0;
  stops_.clear();
  for (const User& user : link.users) {
    if (const double level = flights_[user.flight].level; level < from) {
      stops_.push_back({level, user.weight});
    } else {
      link.weight += user.weight;
      ++link.waiting;
    }
  }
  std::ranges::sort(stops_, {}, &Stop::level);
  for (auto stop = stops_.begin(); stop != stops_.end();) {
    const double level = stop->level;
    LinkWeight taken;
    for (; stop != stops_.end() && stop->level == level; ++stop) {
      taken += stop->weight;
    }
    link.room = std::max(0.0, link.room - taken.value() * level);
  }
}

/// Progressive filling; in each round only links and flights that are not done.
void SharedNetwork::solve(double date, double from) {
  for (const Index link : component_links_) {
    begin_filling(links_[link], from);
  }
  for (const Index index : component_) {
    flights_[index].fixed = false;
  }
  double level = 0;
  while (!component_.empty()) {
    level = next_level(level);
    choose_flights(level * (1 + kTolerance));
    for (const Index index : to_fix_) {
      fix(index, level, date);
    }
    std::erase_if(component_, [this](Index index) { return flights_[index].fixed; });
    std::erase_if(component_links_, [this](Index index) { return links_[index].waiting == 0; });
  }
}

/// The level at which the next link is full or a flight meets its bound. @param latest of the round before
double SharedNetwork::next_level(double latest) {
  double level = std::numeric_limits<double>::infinity();
  for (const Index index : component_links_) {
    LinkState& link = links_[index];
    if (const double taken = link.taken.value(); taken > 0) {
      link.room = std::max(0.0, link.room - taken * latest);
      link.taken = {};
    }
    link.demand = link.weight.value();
    if (link.demand > kTolerance) {
      level = std::min(level, link.room / link.demand);
    }
  }
  for (const Index index : component_) {
    level = std::min(level, flights_[index].shape->bound);
  }
  return level;
}

/// Flights that meet a full link or their bound at the level @p reached.
void SharedNetwork::choose_flights(double reached) {
  to_fix_.clear();
  const auto choose = [this](Index index) {
    if (!flights_[index].fixed) {
      flights_[index].fixed = true;
      to_fix_.push_back(index);
    }
  };
  for (const Index index : component_links_) {
    const LinkState& link = links_[index];
    if (link.room <= reached * link.demand) {
      std::ranges::for_each(link.users, choose, &User::flight);
    }
  }
  for (const Index index : component_) {
    if (flights_[index].shape->bound <= reached) {
      choose(index);
    }
  }
}

void SharedNetwork::fix(Index index, double rate, double date) {
  for (const Use& use : flights_[index].shape->uses) {
    LinkState& link = links_[use.link];
    if (link.mark == mark_) {
      --link.waiting;
      link.taken += use.weight;
      link.weight -= use.weight;
    }
  }
  flights_[index].level = rate;
  set_rate(index, rate, date);
}

}  // namespace lockstep
