#include "search/learned/placing.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace lockstep::sharding::learned {

bool Placing::has_room(std::uint32_t table) {
  for (std::size_t device = 0; device < used_.size(); ++device) {
    room_[device] = used_[device] + size_of(table) <= task_->capacity[device];
  }
  return std::ranges::find(room_, true) != room_.end();
}

void Placing::put(std::uint32_t table, std::uint32_t device) {
  plan_.pieces[table].device = device;
  used_[device] += size_of(table);
}

double Placing::filled(std::uint32_t device) const {
  return used_[device] > Bytes{0} ? used_[device] / task_->capacity[device] : 0;
}

double Placing::lacking(std::uint32_t table) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t device = 0; device < used_.size(); ++device) {
    if (task_->capacity[device] > Bytes{0}) {
      least = std::min(least, (used_[device] + size_of(table)) / task_->capacity[device] - 1);
    }
  }
  return std::max(0.0, least);
}

std::vector<std::uint32_t> costliest_first(const Vector& costs) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(costs.size()));
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::uint32_t table) { return costs[static_cast<Eigen::Index>(table)]; });
  return order;
}

}  // namespace lockstep::sharding::learned
