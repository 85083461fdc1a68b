#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

/// Things that are made one after the other, of which other threads make later ones while the caller is at an
/// earlier one. The caller gets the same things in the same order with any number of threads.
template <typename Thing>
class MadeAhead {
 public:
  /// @param make the thing of a number below @p count; called by several threads at a time
  /// @param helpers threads besides the caller's
  MadeAhead(std::size_t count, std::size_t helpers, std::function<Thing(std::size_t)> make)
      : begun_(count), made_(count), make_{std::move(make)} {
    for (std::size_t i = 0; i + 1 < count && i < helpers; ++i) {
      try {
        helpers_.emplace_back([this] { make_all(); });
      } catch (const std::system_error&) {  // no more threads: the caller makes what nobody has begun
        return;
      }
    }
  }
  MadeAhead(const MadeAhead&) = delete;
  MadeAhead& operator=(const MadeAhead&) = delete;

  /// Waits for the things that are being made. The rest is not begun.
  ~MadeAhead() {
    is_over_ = true;
    for (std::thread& helper : helpers_) {
      helper.join();
    }
  }

  /// The thing of @p number, each once. Makes it where no helper has begun it, and later ones while a helper
  /// makes it.
  /// @throws what making it has thrown
  Thing take(std::size_t number) {
    if (!begun_[number].exchange(true)) {
      return make_(number);
    }
    std::future<Thing> made = made_[number].get_future();
    while (made.wait_for(std::chrono::seconds{0}) != std::future_status::ready && make_next()) {
    }
    return made.get();
  }

  /// Asked while a thing is made: nobody waits for it any longer.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  void make_all() {
    while (!is_over_ && make_next()) {
    }
  }

  /// Makes the first thing that nobody has begun. False: there is none.
  bool make_next() {
    for (std::size_t number = 0; number < begun_.size(); ++number) {
      if (begun_[number].exchange(true)) {
        continue;
      }
      try {
        made_[number].set_value(make_(number));
      } catch (...) {
        made_[number].set_exception(std::current_exception());
      }
      return true;
    }
    return false;
  }

  std::vector<std::atomic<bool>> begun_;
  std::vector<std::promise<Thing>> made_;
  std::function<Thing(std::size_t)> make_;
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> helpers_;
};

}  // namespace lockstep
