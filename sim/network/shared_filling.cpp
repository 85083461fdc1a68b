// Progressive filling of SharedNetwork: who has which rate since the latest changes.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/network/shared.hpp"

namespace lockstep {

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

/// The state that the rounds below the level @p from leave: they are those of the solve before.
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
