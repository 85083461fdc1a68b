#pragma once

#include <cstddef>
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
  [[nodiscard]] std::size_t size() const { return tail_ - head_; }
  [[nodiscard]] const T& front() const { return slots_[head_ & mask_]; }

  void push(const T& value) {
    if (size() > mask_ || slots_ == nullptr) {
      grow();
    }
    slots_[tail_++ & mask_] = value;
  }

  void pop() { ++head_; }

 private:
  void grow() {
    const std::size_t capacity = slots_ == nullptr ? 8 : 2 * (mask_ + 1);
    auto larger = std::make_unique<T[]>(capacity);
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) {
      larger[i] = slots_[(head_ + i) & mask_];
    }
    slots_ = std::move(larger);
    mask_ = capacity - 1;
    head_ = 0;
    tail_ = count;
  }

  std::unique_ptr<T[]> slots_;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace lockstep
