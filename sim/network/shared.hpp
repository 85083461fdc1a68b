#pragma once

#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/link_loads.hpp"
#include "sim/network/link_weight.hpp"
#include "sim/network/network.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// Max-min fair sharing with one variable per transfer instead of one per flow.
///
/// The edges of a collective advance together, so a transfer is one rate r (bytes per second of its largest
/// edge) that loads link l with w_l r, where w_l counts the edges crossing l. Rates are max-min fair over all
/// transfers in flight: progressive filling, i.e. all rates rise together until a link is full or a transfer
/// meets its own bound.
///   Assumes    edges of one transfer pipeline perfectly; rates change only when a transfer starts or ends
///   Valid for  within 0.2 % of one flow per edge on rails + rings + all-to-all; within 5 % for trees, whose
///              edges carry unequal shares (tests/model/sim/networks_test.cpp)
///   Source     max-min fairness: Bertsekas and Gallager, Data Networks, sec. 6.5.2
/// Only the connected component of a change is solved again, once per date, when everything known to happen
/// at that date has happened. Transfers are connected by links that they could fill together: a link that is
/// not full even when each of its users reaches what it would reach alone limits none. Filling starts at the
/// lowest level that the change reaches: who got less before keeps its rate, to the last bit. Links that the
/// same transfers cross with the same weights are merged into the narrowest of them, which is exact. Sums of
/// weights do not depend on an order, so that transfers that look the same get the same rate, to the last
/// bit.
class SharedNetwork final : public Network {
 public:
  explicit SharedNetwork(const Fabric& fabric);

  void prepare(const CollectivePlan& plan) override;
  void start(TransferId transfer, const CollectivePlan& plan, std::span<const VertexId> members,
             double date) override;
  [[nodiscard]] double next_completion() override;
  [[nodiscard]] bool completes_by(double date) override;
  TransferId complete_next() override;

  void observe_loads(LoadObserver observer) { observer_ = std::move(observer); }

 private:
  using Index = std::uint32_t;
  /// `Flight::level` before the first solve.
  static constexpr double kUnsolved = std::numeric_limits<double>::infinity();
  struct Use {
    Index link;
    LinkWeight weight;
    bool operator==(const Use&) const = default;
    auto operator<=>(const Use&) const = default;
  };
  struct Shape {
    std::vector<Use> all;   // every link crossed
    std::vector<Use> uses;  // after merging
    double unit;            // bytes of the largest edge per byte of the plan's size
    double bound;           // most bytes per second of the largest edge, when it flies alone
  };
  struct User {
    Index flight;
    LinkWeight weight;
  };
  struct LinkState {
    double capacity = 0;
    std::vector<User> users;
    std::uint64_t fill = 0;  // what its users load it with at their bounds, in kFull-ths of the capacity
    double room = 0;
    LinkWeight weight;  // of the users without a rate
    LinkWeight taken;   // of those that got theirs in the latest round
    double demand = 0;  // weight, as a number
    Index waiting = 0;  // users without a rate
    std::uint32_t mark = 0;
  };
  struct Flight {
    const Shape* shape = nullptr;
    TransferId transfer = 0;
    double remaining = 0;
    double rate = 0;
    double since = 0;
    double level = kUnsolved;  // of filling, at which it got its rate
    std::uint32_t version = 0;
    std::uint32_t mark = 0;
    bool fixed = false;
    std::vector<Index> places;  // in the users of each used link
  };
  /// At a level some users of a link have their rates.
  struct Stop {
    double level;
    LinkWeight weight;
  };
  struct Completion {
    double date;
    Index flight;
    std::uint32_t version;
    bool operator<(const Completion& other) const {
      return date > other.date || (date == other.date && flight > other.flight);
    }
  };

  /// Rates closer than this are equal: far below what a link can be told apart by, far above rounding.
  static constexpr double kTolerance = 1e-12;
  /// Filling starts so far below the level that a change reaches, relative: far more than the level's
  /// rounding.
  static constexpr double kBelow = 1e-6;
  /// `LinkState::fill` of a full link.
  static constexpr std::uint64_t kFull = std::uint64_t{1} << 40U;

  const Shape& shape_of(const CollectivePlan& plan);
  void merge_links();
  [[nodiscard]] double bound_of(const Shape& shape) const;
  [[nodiscard]] std::uint64_t fill_of(const Shape& shape, const Use& use) const;
  /// Whether some rates of its users, each up to its bound, fill it: else it joins no component.
  [[nodiscard]] static bool may_be_full(const LinkState& link);
  void touch_users(const LinkState& link, double date);
  [[nodiscard]] double full_at(const LinkState& link);
  [[nodiscard]] double changes_from();
  void begin_filling(LinkState& link, double from);
  void occupy(Index flight);
  void release(Index flight);
  void set_rate(Index flight, double rate, double date);
  void touch(Index flight, double date);
  void settle();
  void collect_component(Index first, double from);
  void solve(double date, double from);
  [[nodiscard]] double next_level(double latest);
  void choose_flights(double reached);
  void fix(Index flight, double rate, double date);
  void drop_stale();
  void tell_loads(const Shape& shape, double more, double date) const;

  std::vector<LinkState> links_;
  std::unordered_map<const CollectivePlan*, const Shape*> shapes_;
  std::map<std::vector<Use>, std::vector<Shape*>> distinct_;
  std::vector<std::unique_ptr<Shape>> owned_;
  std::vector<Flight> flights_;
  std::vector<Index> free_;
  std::vector<Completion> heap_;
  std::vector<Index> dirty_, component_, component_links_, to_fix_, left_links_;
  std::vector<Stop> stops_;
  double dirty_date_ = 0;
  double ended_level_ = kUnsolved;  // the lowest of those that ended at that date
  std::uint32_t mark_ = 0;
  bool merged_ = true;
  LoadObserver observer_;
};

}  // namespace lockstep
