#include "traces/pytorch_et/sequence_alignment.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::pytorch_et {
namespace {

using Place = std::int64_t;

constexpr Place kMostSkipped = 4096;  // per search for a middle: what bounds the time

/// Part of both sequences.
struct Window {
  Place left = 0, left_end = 0, right = 0, right_end = 0;
};

struct Middle {
  Place left = 0, right = 0;
};

/// Furthest places by diagonal (left - right), from one end of a window.
struct Front {
  std::vector<Place> reached;
  Place origin = 0;  ///< index of diagonal 0
  Place low = 0, high = 0;

  [[nodiscard]] Place& at(Place diagonal) { return reached[static_cast<std::size_t>(diagonal + origin)]; }
  void start(Place diagonal, Place left) {
    low = high = diagonal;
    at(diagonal) = left;
  }
  /// One more symbol skipped: a diagonal more on either side, or one less at the window's edge.
  void widen(Place lowest, Place highest, Place beyond) {
    if (low > lowest) {
      at(--low - 1) = beyond;
    } else {
      ++low;
    }
    if (high < highest) {
      at(++high + 1) = beyond;
    } else {
      --high;
    }
  }
  [[nodiscard]] bool has(Place diagonal) const { return low <= diagonal && diagonal <= high; }
};

class Aligner {
 public:
  Aligner(std::span<const Symbol> left, std::span<const Symbol> right)
      : left_{left}, right_{right}, left_skipped_(left.size()), right_skipped_(right.size()) {
    const std::size_t diagonals = left.size() + right.size() + 3;
    for (Front* front : {&forward_, &backward_}) {
      front->reached.resize(diagonals);
      front->origin = static_cast<Place>(right.size()) + 1;
    }
  }

  std::vector<std::pair<std::size_t, std::size_t>> pairs() && {
    compare({0, static_cast<Place>(left_.size()), 0, static_cast<Place>(right_.size())});
    std::vector<std::pair<std::size_t, std::size_t>> found;
    std::size_t right = 0;
    for (std::size_t left = 0; left < left_.size(); ++left) {
      if (left_skipped_[left]) {
        continue;
      }
      while (right_skipped_[right]) {
        ++right;
      }
      found.emplace_back(left, right++);
    }
    return found;
  }

 private:
  [[nodiscard]] bool same(Place left, Place right) const {
    return left_[static_cast<std::size_t>(left)] == right_[static_cast<std::size_t>(right)];
  }

  void compare(Window window) {
    while (window.left < window.left_end && window.right < window.right_end &&
           same(window.left, window.right)) {
      ++window.left;
      ++window.right;
    }
    while (window.left < window.left_end && window.right < window.right_end &&
           same(window.left_end - 1, window.right_end - 1)) {
      --window.left_end;
      --window.right_end;
    }
    if (window.left == window.left_end || window.right == window.right_end) {
      skip(window);
      return;
    }
    const Middle middle = middle_of(window);
    const bool is_start = middle.left == window.left && middle.right == window.right;
    const bool is_end = middle.left == window.left_end && middle.right == window.right_end;
    if (is_start || is_end) {
      skip(window);
      return;
    }
    compare({window.left, middle.left, window.right, middle.right});
    compare({middle.left, window.left_end, middle.right, window.right_end});
  }

  void skip(const Window& window) {
    std::fill(left_skipped_.begin() + window.left, left_skipped_.begin() + window.left_end, true);
    std::fill(right_skipped_.begin() + window.right, right_skipped_.begin() + window.right_end, true);
  }

  /// The place where a shortest way has skipped half of its skips: searches from both ends meet there.
  Middle middle_of(const Window& window) {
    const Place lowest = window.left - window.right_end;
    const Place highest = window.left_end - window.right;
    const Place first = window.left - window.right;
    const Place last = window.left_end - window.right_end;
    const bool is_odd = ((first - last) & 1) != 0;
    forward_.start(first, window.left);
    backward_.start(last, window.left_end);
    for (Place skipped = 1;; ++skipped) {
      Middle middle;
      forward_.widen(lowest, highest, -1);
      if (step_forward(window, is_odd, middle)) {
        return middle;
      }
      backward_.widen(lowest, highest, std::numeric_limits<Place>::max());
      if (step_backward(window, !is_odd, middle)) {
        return middle;
      }
      if (skipped >= kMostSkipped) {
        return furthest(window);
      }
    }
  }

  bool step_forward(const Window& window, bool may_meet, Middle& middle) {
    for (Place diagonal = forward_.high; diagonal >= forward_.low; diagonal -= 2) {
      Place left = std::max(forward_.at(diagonal - 1) + 1, forward_.at(diagonal + 1));
      Place right = left - diagonal;
      while (left < window.left_end && right < window.right_end && same(left, right)) {
        ++left;
        ++right;
      }
      forward_.at(diagonal) = left;
      if (may_meet && backward_.has(diagonal) && backward_.at(diagonal) <= left) {
        middle = {left, right};
        return true;
      }
    }
    return false;
  }

  bool step_backward(const Window& window, bool may_meet, Middle& middle) {
    for (Place diagonal = backward_.high; diagonal >= backward_.low; diagonal -= 2) {
      Place left = std::min(backward_.at(diagonal - 1), backward_.at(diagonal + 1) - 1);
      Place right = left - diagonal;
      while (left > window.left && right > window.right && same(left - 1, right - 1)) {
        --left;
        --right;
      }
      backward_.at(diagonal) = left;
      if (may_meet && forward_.has(diagonal) && left <= forward_.at(diagonal)) {
        middle = {left, right};
        return true;
      }
    }
    return false;
  }

  /// The search has become too long: the place that the forward search has come furthest to.
  Middle furthest(const Window& window) {
    Middle best{window.left, window.right};
    for (Place diagonal = forward_.high; diagonal >= forward_.low; diagonal -= 2) {
      const Place left = std::min({forward_.at(diagonal), window.left_end, window.right_end + diagonal});
      if (left + left - diagonal > best.left + best.right && left >= window.left &&
          left - diagonal >= window.right) {
        best = {left, left - diagonal};
      }
    }
    return best;
  }

  std::span<const Symbol> left_, right_;
  std::vector<bool> left_skipped_, right_skipped_;
  Front forward_, backward_;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> aligned(std::span<const Symbol> left,
                                                         std::span<const Symbol> right) {
  return Aligner{left, right}.pairs();
}

}  // namespace lockstep::pytorch_et
