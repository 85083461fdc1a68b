#pragma once

#include <cstdint>
#include <vector>

#include "sim/rank_log.hpp"

namespace lockstep {

using EventSlot = std::uint32_t;

/// The cudaEvents of one rank. Every record makes a fresh slot, because a wait refers to the latest record
/// issued before it and the host may record the same event again long before the GPU gets there. Slots are
/// counted and reused.
class EventPool {
 public:
  static constexpr EventSlot kNone = 0xffffffff;

  /// A slot whose moment is not known yet, held by @p holders.
  EventSlot acquire(std::uint32_t holders) {
    EventSlot slot = 0;
    if (free_.empty()) {
      slot = static_cast<EventSlot>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
      slots_[slot] = {};
    }
    slots_[slot].holders = holders;
    return slot;
  }

  void hold(EventSlot slot) { ++slots_[slot].holders; }

  void release(EventSlot slot) {
    if (--slots_[slot].holders == 0) {
      free_.push_back(slot);
    }
  }

  [[nodiscard]] bool happened(EventSlot slot) const { return slots_[slot].happened; }
  [[nodiscard]] double date(EventSlot slot) const { return slots_[slot].date; }

  /// The event happens at @p date because of @p cause. Returns the actors (a bit each) that waited.
  std::uint64_t happen(EventSlot slot, double date, const Cause& cause) {
    Slot& event = slots_[slot];
    event.date = date;
    event.happened = true;
    event.cause = cause;
    return event.waiters;
  }

  void wake_when_happened(EventSlot slot, unsigned actor) { slots_[slot].waiters |= 1ULL << actor; }

  void expect_on(EventSlot slot, std::uint8_t stream) { slots_[slot].stream = stream; }
  [[nodiscard]] std::uint8_t stream(EventSlot slot) const { return slots_[slot].stream; }
  [[nodiscard]] const Cause& cause(EventSlot slot) const { return slots_[slot].cause; }

 private:
  struct Slot {
    double date = 0;
    std::uint64_t waiters = 0;
    std::uint32_t holders = 0;
    Cause cause;
    std::uint8_t stream = 0;
    bool happened = false;
  };
  std::vector<Slot> slots_;
  std::vector<EventSlot> free_;
};

}  // namespace lockstep
