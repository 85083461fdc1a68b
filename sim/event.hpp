#pragma once

#include <cstdint>
#include <vector>

#include "sim/rank_log.hpp"

namespace lockstep {

using EventSlot = std::uint32_t;

/// When an event happened, and why then.
struct Occurrence {
  double date = 0;
  Cause cause;
};

/// The latest record of an event that the host has issued, in 8 bytes because ranks have many events.
class Recorded {
 public:
  Recorded() = default;  ///< there was none
  /// It is queued on a stream.
  static Recorded in(EventSlot slot) { return Recorded{-2.0 - slot}; }
  /// It happened when it was issued, at @p date.
  static Recorded at(double date) { return Recorded{date}; }

  [[nodiscard]] bool happened_at_once() const { return value_ >= 0; }
  [[nodiscard]] double date() const { return value_; }
  [[nodiscard]] bool was_queued() const { return value_ <= -2; }
  [[nodiscard]] EventSlot slot() const { return static_cast<EventSlot>(-2.0 - value_); }

 private:
  explicit Recorded(double value) : value_{value} {}
  double value_ = -1;
};

/// The cudaEvents of one rank whose records are queued on a stream. Every record makes a fresh slot, because
/// a wait refers to the latest record issued before it and the host may record the same event again long
/// before the GPU gets there. Slots are counted and reused.
class EventPool {
 public:
  /// A slot whose occurrence is not known yet, held by @p holders.
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
  [[nodiscard]] const Occurrence& occurrence(EventSlot slot) const { return slots_[slot].occurrence; }

  /// Returns the actors (a bit each) that waited.
  std::uint64_t happen(EventSlot slot, const Occurrence& occurrence) {
    Slot& event = slots_[slot];
    event.occurrence = occurrence;
    event.happened = true;
    return event.waiters;
  }

  void wake_when_happened(EventSlot slot, unsigned actor) { slots_[slot].waiters |= 1ULL << actor; }

  void expect_on(EventSlot slot, std::uint8_t stream) { slots_[slot].stream = stream; }
  [[nodiscard]] std::uint8_t stream(EventSlot slot) const { return slots_[slot].stream; }

 private:
  struct Slot {
    Occurrence occurrence;
    std::uint64_t waiters = 0;
    std::uint32_t holders = 0;
    std::uint8_t stream = 0;
    bool happened = false;
  };
  std::vector<Slot> slots_;
  std::vector<EventSlot> free_;
};

}  // namespace lockstep
