#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/network/network.hpp"

namespace lockstep {

class Rank;

/// Dates at which something happens that no network knows of: moments of transfers, and calls of streams
/// ("ticks"). At one date they come in the order in which they were entered.
class Agenda {
 public:
  enum class Moment : std::uint8_t { TransferStart, CopyReady, Meet };
  struct Entry {
    double date;
    std::uint64_t order;
    TransferId subject;
    Moment what;
  };
  struct Tick {
    double date;
    std::uint64_t order;
    Rank* rank;
    std::uint8_t stream;
  };

  void enter(double date, Moment what, TransferId subject) {
    moments_.push_back({date, order_++, subject, what});
    std::push_heap(moments_.begin(), moments_.end(), ComesLater{});
  }
  void call_at(double date, Rank& rank, std::uint8_t stream) {
    ticks_.push_back({date, order_++, &rank, stream});
    std::push_heap(ticks_.begin(), ticks_.end(), ComesLater{});
  }

  /// Network::kNever where there is none.
  [[nodiscard]] double next_moment() const {
    return moments_.empty() ? Network::kNever : moments_.front().date;
  }
  [[nodiscard]] double next_tick() const { return ticks_.empty() ? Network::kNever : ticks_.front().date; }
  [[nodiscard]] double next() const { return std::min(next_moment(), next_tick()); }
  [[nodiscard]] bool has_ticks() const { return !ticks_.empty(); }

  /// Whether a tick comes before all moments. @pre the agenda is not empty
  [[nodiscard]] bool is_tick_next() const {
    return moments_.empty() || (!ticks_.empty() && ComesLater{}(moments_.front(), ticks_.front()));
  }

  /// @pre there is one
  Entry take_moment() { return take(moments_); }
  Tick take_tick() { return take(ticks_); }

 private:
  struct ComesLater {
    bool operator()(const auto& a, const auto& b) const {
      return a.date > b.date || (a.date == b.date && a.order > b.order);
    }
  };
  template <class A>
  static A take(std::vector<A>& heap) {
    const A next = heap.front();
    std::pop_heap(heap.begin(), heap.end(), ComesLater{});
    heap.pop_back();
    return next;
  }

  std::vector<Entry> moments_;
  std::vector<Tick> ticks_;  // apart, because they are many and touch one rank only
  std::uint64_t order_ = 0;
};

}  // namespace lockstep
