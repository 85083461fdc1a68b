#include "ops/collectives/ring_search.hpp"

#include <algorithm>
#include <cstdint>

namespace lockstep {
namespace {

using Order = std::vector<int>;

/// Whether neighbours on a cycle need a link of their own.
enum class Neighbours : std::uint8_t { Linked, LinkedOrDetour };

/// Depth-first search for a largest set of cycles that share no link.
class CycleSearch {
 public:
  CycleSearch(LinkCounts links, Neighbours neighbours)
      : all_{links}, links_{std::move(links)}, neighbours_{neighbours}, visited_(links_.size(), false) {}

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
      close();
      return;
    }
    for (int next = 1; next < static_cast<int>(links_.size()) && !is_done(); ++next) {
      if (visited_[static_cast<std::size_t>(next)] || !is_free(way(here, next))) {
        continue;
      }
      take(way(here, next), -1);
      visited_[static_cast<std::size_t>(next)] = true;
      path_.push_back(next);
      extend();
      path_.pop_back();
      visited_[static_cast<std::size_t>(next)] = false;
      take(way(here, next), +1);
    }
  }

  void close() {
    const Order home = way(path_.back(), 0);
    if (!is_free(home)) {
      return;
    }
    take(home, -1);
    chosen_.push_back(path_);
    start_cycle();
    chosen_.pop_back();
    take(home, +1);
  }

  /// The way of a message from @p a to @p b, as comm_route has it. Members without a link go over the GPU
  /// with the widest links to both.
  [[nodiscard]] Order way(int a, int b) const {
    const auto width = [this](int from, int to) {
      return all_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    };
    int middle = -1, widest = 0;
    for (int c = 0; c < static_cast<int>(all_.size()) && width(a, b) == 0; ++c) {
      if (const int here = std::min(width(a, c), width(c, b)); here > widest) {
        middle = c;
        widest = here;
      }
    }
    return middle < 0 || neighbours_ == Neighbours::Linked ? Order{a, b} : Order{a, middle, b};
  }

  [[nodiscard]] bool is_free(const Order& way) {
    take(way, -1);
    bool free = true;
    for (std::size_t i = 1; i < way.size(); ++i) {
      free = free && count(way[i - 1], way[i]) >= 0;
    }
    take(way, +1);
    return free;
  }

  [[nodiscard]] int count(int a, int b) const {
    return links_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  void take(const Order& way, int change) {
    for (std::size_t i = 1; i < way.size(); ++i) {
      const auto a = static_cast<std::size_t>(way[i - 1]), b = static_cast<std::size_t>(way[i]);
      links_[a][b] += change;
      links_[b][a] += change;
    }
  }

  static constexpr long kMostSteps = 1'000'000;
  const LinkCounts all_;
  LinkCounts links_;  // left
  Neighbours neighbours_;
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
  std::vector<Order> cycles = CycleSearch{links, Neighbours::Linked}.best();
  if (cycles.empty()) {
    cycles = CycleSearch{links, Neighbours::LinkedOrDetour}.best();
  }
  std::vector<Order> rings;
  for (const Order& cycle : cycles) {
    rings.push_back(cycle);
    Order reverse = cycle;
    std::reverse(reverse.begin() + 1, reverse.end());
    rings.push_back(reverse);
  }
  return rings;
}

}  // namespace lockstep
