#pragma once

/// @file
/// Memory that a process shares with the children that it forks.

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <type_traits>

namespace lockstep {

/// Items that this process and the children that it forks later see alike. Nobody destroys them.
template <class T>
requires std::is_trivially_destructible_v<T>
class SharedArray {
 public:
  explicit SharedArray(std::size_t count)
      : bytes_{std::max<std::size_t>(count, 1) * sizeof(T)},
        memory_{mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    if (memory_ == MAP_FAILED) {
      throw std::system_error{errno, std::generic_category(), "memory for child processes cannot be had"};
    }
    items_ = {static_cast<T*>(memory_), count};
    std::uninitialized_value_construct(items_.begin(), items_.end());
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() { munmap(memory_, bytes_); }

  T& operator[](std::size_t number) const { return items_[number]; }

 private:
  std::size_t bytes_;
  void* memory_;
  std::span<T> items_;
};

}  // namespace lockstep
