#pragma once

/// @file
/// What the naive executor is made of: actors that wait, the state of streams and ranks, transfers.

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ops/program.hpp"
#include "sim/network/shared.hpp"
#include "sim/simgrid_compat.hpp"

namespace lockstep::testing::naive {

namespace s4u = simgrid::s4u;

// SimGrid's clock adds up differences; what is closer than this to it is now.
inline constexpr double kClockSlack = 2e-12;

/// Actors that wait until something has changed. SimGrid runs one actor at a time, so nothing changes between
/// the look at the condition and the suspension.
class Waiters {
 public:
  template <class Condition>
  void wait_until(Condition condition) {
    while (!condition()) {
      actors_.emplace_back(s4u::Actor::self());
      s4u::this_actor::suspend();
    }
  }
  void wake() {
    for (const auto& actor : std::exchange(actors_, {})) {
      actor->resume();
    }
  }

 private:
  std::vector<s4u::ActorPtr> actors_;
};

inline void sleep_until(double date) {
  const double left = date - s4u::Engine::get_clock();
  if (left > kClockSlack) {
    s4u::this_actor::sleep_for(left);
  }
}

/// Something that happens once.
struct Moment {
  bool happened = false;
  double date = 0;
  Waiters waiters;

  void happen(double when) {
    happened = true;
    date = when;
    waiters.wake();
  }
  double await() {
    waiters.wait_until([this] { return happened; });
    return date;
  }
};
using MomentPtr = std::shared_ptr<Moment>;

struct Item {
  double issue = 0;
  const Instruction* instruction = nullptr;  // null: only a record
  std::uint32_t where = 0;
  std::uint32_t step = 0;
  std::uint32_t number = 0;  // of a collective in its group
  MomentPtr moment;          // to happen (records) or to wait for (stream waits)
};

struct Lane {
  std::deque<Item> items;
  Waiters news;  // items to do, or the end of all threads
  Waiters room;
  std::uint64_t put = 0;
  std::uint64_t begun = 0;
  double latest_start = 0;
  double clock = 0;
  const Instruction* lag = nullptr;  // StartLag of the next work
  std::uint64_t fingerprint = 0;
};

struct Worker {
  std::uint32_t number = 0;
  std::vector<Lane> lanes;
  std::vector<MomentPtr> latest;              // by event
  std::vector<std::vector<MomentPtr>> flags;  // by flag: posts, the k-th for the k-th await
  std::size_t threads_left = 0;
};

/// A collective of a group.
struct Gathering {
  std::size_t arrived = 0;
  double met = 0;
  CollectivePlan plan;
  MomentPtr end = std::make_shared<Moment>();
};

struct Group {
  std::vector<VertexId> gpus;
  std::vector<std::uint32_t> issued;  // by position
  std::map<std::uint32_t, Gathering> gatherings;
};

/// SharedNetwork in SimGrid's clock.
class Transfers final : public simgrid::kernel::resource::Model {
 public:
  explicit Transfers(const Fabric& fabric) : Model("transfers"), network_{fabric} {}

  void start(double date, Gathering& gathering, const std::vector<VertexId>& gpus) {
    starts_.emplace(date, static_cast<TransferId>(flights_.size()));
    flights_.emplace_back(&gathering, &gpus);
  }

  double next_occurring_event(double now) override {
    const double date = next();
    return std::isfinite(date) ? std::max(0.0, date - now) : -1.0;
  }

  void update_actions_state(double now, double /*delta*/) override {
    while (next() <= now + kClockSlack) {
      const double end = network_.next_completion();
      if (!starts_.empty() && starts_.begin()->first < end) {
        const auto [date, transfer] = *starts_.begin();
        starts_.erase(starts_.begin());
        const auto& [gathering, gpus] = flights_[transfer];
        network_.start(transfer, gathering->plan, *gpus, date);
      } else {
        flights_[network_.complete_next()].first->end->happen(end);
      }
    }
  }

 private:
  double next() {
    return std::min(network_.next_completion(), starts_.empty() ? Network::kNever : starts_.begin()->first);
  }

  SharedNetwork network_;
  std::multimap<double, TransferId> starts_;
  std::vector<std::pair<Gathering*, const std::vector<VertexId>*>> flights_;
};

}  // namespace lockstep::testing::naive
