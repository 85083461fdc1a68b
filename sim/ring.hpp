#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace lockstep {

/// A FIFO of trivial values in one block of memory that doubles when full and never shrinks. std::deque
/// touches two blocks per access and allocates while it slides; a stream does both tens of millions of times
/// a second.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  [[nodiscard]] std::uint32_t capacity() const { return mask_ + 1; }
  [[nodiscard]] const T& front() const { return slots_[head_ & mask_]; }

  void push(const T& value) {
    if (size() == capacity()) {
      grow();
    }
    slots_[tail_++ & mask_] = value;
  }

  void pop() { pop(1); }

  // For loops: places from the front, and then all of them at once.
  [[nodiscard]] const T& ahead(std::uint32_t count) const { return slots_[(head_ + count) & mask_]; }
  void pop(std::uint32_t count) {
    head_ += count;
    if (head_ == tail_) {  // starts again in the same cache line
      head_ = tail_ = 0;
    }
  }

  void grow() {
    const std::uint32_t larger = capacity() == 0 ? kLeast : 2 * capacity();
    auto slots = std::make_unique<T[]>(larger);
    const std::uint32_t count = size();
    for (std::uint32_t i = 0; i < count; ++i) {
      slots[i] = slots_[(head_ + i) & mask_];
    }
    slots_ = std::move(slots);
    mask_ = larger - 1;
    head_ = 0;
    tail_ = count;
  }

 private:
  static constexpr std::uint32_t kLeast = 8;

  std::unique_ptr<T[]> slots_;
  std::uint32_t mask_ = ~0U;  // capacity - 1: none yet
  std::uint32_t head_ = 0;    // both run freely and wrap
  std::uint32_t tail_ = 0;
};

}  // namespace lockstep
