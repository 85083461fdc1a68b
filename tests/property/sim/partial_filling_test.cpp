/// @file
/// Transfers that come and go, shared by SharedNetwork, which solves what a change reaches, and by a filling
/// of the whole problem at each change.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/shared.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/parallel_links.hpp"

namespace lockstep::testing {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct ComingTransfer {
  std::vector<int> weights;  // by link; 0: not crossed
  double size = 1;           // bytes
  double cap = kNever;       // bytes a second
  double start = 0;          // s
};
struct Arrivals {
  std::vector<double> capacities;         // bytes a second
  std::vector<ComingTransfer> transfers;  // in the order of their starts
};

/// Crosses few links, so that components join and part.
rc::Gen<ComingTransfer> coming_transfer(std::size_t links) {
  const auto weight = rc::gen::weightedElement<int>({{10, 0}, {2, 1}, {1, 3}});
  return rc::gen::map(
      rc::gen::tuple(rc::gen::container<std::vector<int>>(links, weight), rc::gen::inRange(1, 400),
                     rc::gen::inRange(0, 30), rc::gen::inRange(0, 40)),
      [](const std::tuple<std::vector<int>, int, int, int>& drawn) {
        const auto& [weights, size, cap, start] = drawn;
        return ComingTransfer{weights, 1e6 * size, cap < 3 ? 1e11 : 1e9 * cap, 1e-3 * start};
      });
}

rc::Gen<Arrivals> arrivals() {
  return rc::gen::mapcat(
      rc::gen::container<std::vector<int>>(12, rc::gen::inRange(1, 40)),
      [](const std::vector<int>& gigabytes) {
        std::vector<double> capacities;
        for (const int each : gigabytes) {
          capacities.push_back(1e9 * each);
        }
        return rc::gen::map(
            rc::gen::container<std::vector<ComingTransfer>>(40, coming_transfer(capacities.size())),
            [capacities](std::vector<ComingTransfer> transfers) {
              std::ranges::stable_sort(transfers, {}, &ComingTransfer::start);
              return Arrivals{capacities, std::move(transfers)};
            });
      });
}

/// @return when each ends, s
std::vector<double> ends_in_parts(const Arrivals& given) {
  const Fabric fabric = testing::parallel_links(given.capacities);
  std::vector<CollectivePlan> plans;
  for (const ComingTransfer& transfer : given.transfers) {
    CollectivePlan& plan = plans.emplace_back();
    plan.size = Bytes{transfer.size};
    plan.edges = {{0, 1, 1.0}};
    plan.rate_cap = BytesPerSecond{transfer.cap};
    for (LinkId link = 0; link < transfer.weights.size(); ++link) {
      if (transfer.weights[link] > 0) {
        plan.loads.push_back({link, static_cast<double>(transfer.weights[link])});
      }
    }
  }
  SharedNetwork network{fabric};
  const std::vector<VertexId> members{0, 1};
  std::vector<double> ends(plans.size());
  TransferId begun = 0;
  for (std::size_t left = plans.size(); left > 0;) {
    const double date = network.next_completion();
    if (begun < plans.size() && given.transfers[begun].start < date) {
      const double start = given.transfers[begun].start;
      for (; begun < plans.size() && given.transfers[begun].start == start; ++begun) {
        network.start(begun, plans[begun], members, start);
      }
    } else {
      ends[network.complete_next()] = date;
      --left;
    }
  }
  return ends;
}

/// Rates of those in flight: all rise together, and who meets a full link or its cap stops.
std::vector<double> filled(const Arrivals& given, const std::vector<std::size_t>& flying) {
  std::vector<double> rates(given.transfers.size(), kNever);
  std::vector<std::size_t> rising = flying;
  while (!rising.empty()) {
    std::vector<double> full(given.capacities.size(), kNever);  // by link: the level that fills it
    double level = kNever;
    for (std::size_t link = 0; link < full.size(); ++link) {
      double room = given.capacities[link];
      double demand = 0;
      for (const std::size_t each : flying) {
        const int weight = given.transfers[each].weights[link];
        (rates[each] < kNever ? room : demand) += rates[each] < kNever ? -weight * rates[each] : weight;
      }
      full[link] = demand > 0 ? std::max(0.0, room) / demand : kNever;
      level = std::min(level, full[link]);
    }
    for (const std::size_t each : rising) {
      level = std::min(level, given.transfers[each].cap);
    }
    std::erase_if(rising, [&](std::size_t each) {
      const ComingTransfer& transfer = given.transfers[each];
      bool stops = transfer.cap <= level * (1 + 1e-12);
      for (std::size_t link = 0; link < full.size(); ++link) {
        stops = stops || (transfer.weights[link] > 0 && full[link] <= level * (1 + 1e-12));
      }
      rates[each] = stops ? level : rates[each];
      return stops;
    });
  }
  return rates;
}

std::vector<double> ends_by_filling_all(const Arrivals& given) {
  std::vector<double> left, ends(given.transfers.size());
  for (const ComingTransfer& transfer : given.transfers) {
    left.push_back(transfer.size);
  }
  std::vector<std::size_t> flying;
  std::size_t begun = 0;
  double now = 0;
  while (begun < left.size() || !flying.empty()) {
    const std::vector<double> rates = filled(given, flying);
    double next = begun < left.size() ? given.transfers[begun].start : kNever;
    for (const std::size_t each : flying) {
      next = std::min(next, now + left[each] / rates[each]);
    }
    std::erase_if(flying, [&](std::size_t each) {
      const bool is_done = now + left[each] / rates[each] <= next * (1 + 1e-12);
      left[each] -= (next - now) * rates[each];
      ends[each] = is_done ? next : ends[each];
      return is_done;
    });
    for (; begun < left.size() && given.transfers[begun].start <= next; ++begun) {
      flying.push_back(begun);
    }
    now = next;
  }
  return ends;
}

TEST(PartialFilling, GivesTheRatesOfAWholeOne) {
  holds("in parts == whole", 200, [] {
    const Arrivals given = *arrivals();
    const std::vector<double> parts = ends_in_parts(given);
    const std::vector<double> whole = ends_by_filling_all(given);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      RC_ASSERT(std::abs(parts[i] - whole[i]) <= 1e-9 * whole[i]);
    }
  });
}

}  // namespace
}  // namespace lockstep::testing
