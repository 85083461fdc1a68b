#include "ops/collectives/ring_search.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using Order = std::vector<int>;

/// Depth-first search for a largest set of cycles that share no link.
class CycleSearch {
 public:
  explicit CycleSearch(LinkCounts links) : links_{std::move(links)}, visited_(links_.size(), false) {}

  std::vector<Order> best() {
    bound_ = bound();
    start_cycle();
    return best_;
  }

 private:
  /// A cycle takes two links of every GPU.
  [[nodiscard]] std::size_t bound() const {
    int least = static_cast<int>(links_.size()) * 1000;
    for (const std::vector<int>& row : links_) {
      int degree = 0;
      for (const int count : row) {
        degree += count;
      }
      least = std::min(least, degree);
    }
    return static_cast<std::size_t>(least / 2);
  }

  [[nodiscard]] bool is_done() const { return best_.size() >= bound_ || steps_ > kMostSteps; }

  void start_cycle() {
    if (chosen_.size() > best_.size()) {
      best_ = chosen_;
    }
    if (is_done() || chosen_.size() + bound() <= best_.size()) {
      return;
    }
    const Order outer = path_;
    const std::vector<bool> outer_visited = visited_;
    path_ = {0};
    visited_.assign(links_.size(), false);
    visited_[0] = true;
    extend();
    path_ = outer;
    visited_ = outer_visited;
  }

  void extend() {
    ++steps_;
    const int here = path_.back();
    if (path_.size() == links_.size()) {
      if (count(here, 0) > 0) {
        close();
      }
      return;
    }
    for (int next = 1; next < static_cast<int>(links_.size()) && !is_done(); ++next) {
      if (visited_[static_cast<std::size_t>(next)] || count(here, next) == 0) {
        continue;
      }
      take(here, next, -1);
      visited_[static_cast<std::size_t>(next)] = true;
      path_.push_back(next);
      extend();
      path_.pop_back();
      visited_[static_cast<std::size_t>(next)] = false;
      take(here, next, +1);
    }
  }

  void close() {
    take(path_.back(), 0, -1);
    chosen_.push_back(path_);
    start_cycle();
    chosen_.pop_back();
    take(path_.back(), 0, +1);
  }

  [[nodiscard]] int count(int a, int b) const {
    return links_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  void take(int a, int b, int change) {
    links_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] += change;
    links_[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] += change;
  }

  static constexpr long kMostSteps = 1'000'000;
  LinkCounts links_;
  std::vector<bool> visited_;
  Order path_;
  std::vector<Order> chosen_;
  std::vector<Order> best_;
  std::size_t bound_ = 0;
  long steps_ = 0;
};

}  // namespace

std::vector<Order> find_rings(const LinkCounts& links) {
  if (links.size() < 2) {
    return {};
  }
  if (links.size() == 2) {
    return std::vector<Order>(static_cast<std::size_t>(links[0][1]), Order{0, 1});
  }
  std::vector<Order> rings;
  for (const Order& cycle : CycleSearch{links}.best()) {
    rings.push_back(cycle);
    Order reverse = cycle;
    std::reverse(reverse.begin() + 1, reverse.end());
    rings.push_back(reverse);
  }
  return rings;
}

}  // namespace lockstep
