/// @file
/// SharedNetwork's sharing against SimGrid's own max-min system. SimGrid's headers do not have that system,
/// but a communication puts one variable into it, with the weight k on a link that its route crosses k times.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/shared.hpp"
#include "sim/simgrid_compat.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/parallel_links.hpp"

namespace lockstep::testing {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;

/// A transfer with whole weights. Link 0 of a machine is crossed by all, so that they contend.
struct RandomTransfer {
  std::vector<int> weights;  // by link
  double size = 1;           // bytes
  double cap = 0;            // bytes a second; 0: none
};
struct RandomSharing {
  std::vector<double> capacities;  // bytes a second
  std::vector<RandomTransfer> transfers;
};

rc::Gen<RandomTransfer> random_transfer(std::size_t links) {
  return rc::gen::map(rc::gen::tuple(rc::gen::container<std::vector<int>>(links, rc::gen::inRange(0, 4)),
                                     rc::gen::inRange(1, 1000), rc::gen::inRange(0, 60)),
                      [](const std::tuple<std::vector<int>, int, int>& drawn) {
                        auto [weights, size, cap] = drawn;
                        weights.front() = std::max(weights.front(), 1);
                        return RandomTransfer{weights, 1e6 * size, cap < 40 ? 0.0 : 1e9 * (cap - 39)};
                      });
}

rc::Gen<RandomSharing> random_sharing() {
  return rc::gen::mapcat(rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 200))),
                         [](const std::vector<int>& gigabytes) {
                           std::vector<double> capacities;
                           for (const int each : gigabytes) {
                             capacities.push_back(1e9 * each);
                           }
                           return rc::gen::map(
                               rc::gen::nonEmpty(rc::gen::container<std::vector<RandomTransfer>>(
                                   random_transfer(capacities.size()))),
                               [capacities](const std::vector<RandomTransfer>& transfers) {
                                 return RandomSharing{capacities, transfers};
                               });
                         });
}

/// All start at 0. @return when each ends, s
std::vector<double> ends_by_ours(const RandomSharing& sharing) {
  const Fabric fabric = testing::parallel_links(sharing.capacities);
  std::vector<CollectivePlan> plans;
  for (const RandomTransfer& transfer : sharing.transfers) {
    CollectivePlan& plan = plans.emplace_back();
    plan.size = Bytes{transfer.size};
    plan.edges = {{0, 1, 1.0}};
    if (transfer.cap > 0) {
      plan.rate_cap = BytesPerSecond{transfer.cap};
    }
    for (LinkId link = 0; link < transfer.weights.size(); ++link) {
      if (transfer.weights[link] > 0) {
        plan.loads.push_back({link, static_cast<double>(transfer.weights[link])});
      }
    }
  }
  SharedNetwork network{fabric};
  const std::vector<VertexId> members{0, 1};
  for (TransferId transfer = 0; transfer < plans.size(); ++transfer) {
    network.prepare(plans[transfer]);
  }
  for (TransferId transfer = 0; transfer < plans.size(); ++transfer) {
    network.start(transfer, plans[transfer], members, 0);
  }
  std::vector<double> ends(plans.size());
  for (std::size_t left = plans.size(); left > 0; --left) {
    const double date = network.next_completion();
    ends[network.complete_next()] = date;
  }
  return ends;
}

/// A host for each transfer, and its route to the host `sink`: links over and over, by weight.
class WeightedZone final : public NetZoneImpl {
 public:
  WeightedZone() : NetZoneImpl("weighted") {}
  void get_local_route(const NetPoint* from, const NetPoint* /*to*/, Route* route,
                       double* /*latency*/) override {
    for (s4u::Link* link : routes_[from->id()]) {
      route->link_list_.push_back(link->get_impl());
    }
  }
  void add_route(const s4u::Host* from, std::vector<s4u::Link*> links) {
    routes_[from->get_netpoint()->id()] = std::move(links);
  }

 private:
  std::map<unsigned long, std::vector<s4u::Link*>> routes_;
};

/// Once a process.
std::vector<double> ends_by_simgrid(const RandomSharing& sharing) {
  std::string name = "test", quiet = "--log=root.thres:critical";
  std::vector<char*> arguments{name.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine{&count, arguments.data()};
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e18",
                              "network/latency-factor:0", "network/weight-S:0"}) {
    s4u::Engine::set_config(std::string{setting});
  }
  simgrid_compat::set_precision("1e-12");
  simgrid_compat::set_work_precision("1e-12");
  auto* zone = new WeightedZone;  // SimGrid owns its zones
  s4u::NetZone* netzone = simgrid_compat::attach(engine, zone);
  std::vector<s4u::Link*> links;
  for (std::size_t link = 0; link < sharing.capacities.size(); ++link) {
    links.push_back(
        simgrid_compat::add_link(netzone, "link" + std::to_string(link), sharing.capacities[link]));
    links.back()->set_latency(0);
  }
  s4u::Host* sink = simgrid_compat::add_host(netzone, "sink", 1e9);
  std::vector<s4u::Host*> sources;
  for (std::size_t transfer = 0; transfer < sharing.transfers.size(); ++transfer) {
    const RandomTransfer& wanted = sharing.transfers[transfer];
    sources.push_back(simgrid_compat::add_host(netzone, "source" + std::to_string(transfer), 1e9));
    std::vector<s4u::Link*> route;
    for (std::size_t link = 0; link < wanted.weights.size(); ++link) {
      route.insert(route.end(), static_cast<std::size_t>(wanted.weights[link]), links[link]);
    }
    if (wanted.cap > 0) {
      route.push_back(simgrid_compat::add_link(netzone, "cap" + std::to_string(transfer), wanted.cap));
      route.back()->set_latency(0);
    }
    zone->add_route(sources.back(), std::move(route));
  }
  netzone->seal();
  std::vector<double> ends(sharing.transfers.size());
  std::vector<s4u::CommPtr> comms;
  std::map<const s4u::Comm*, std::size_t> place;
  simgrid_compat::on_comm_completion(
      [&](const s4u::Comm& comm) { ends[place.at(&comm)] = s4u::Engine::get_clock(); });
  for (std::size_t transfer = 0; transfer < ends.size(); ++transfer) {
    comms.push_back(s4u::Comm::sendto_init(sources[transfer], sink));
    comms.back()->set_payload_size(static_cast<std::uint64_t>(sharing.transfers[transfer].size));
    place[comms.back().get()] = transfer;
    simgrid_compat::start(*comms.back());
  }
  engine.run();
  comms.clear();
  return ends;
}

TEST(MaxMin, SharesAsSimgridsOwnSystemDoes) {
  holds("ours == SimGrid's", 60, [] {
    const RandomSharing sharing = *random_sharing();
    const std::vector<double> ours = ends_by_ours(sharing);
    const std::vector<double> theirs = in_child([&] { return ends_by_simgrid(sharing); });
    RC_ASSERT(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      RC_ASSERT(std::abs(ours[i] - theirs[i]) <= 1e-9 * theirs[i]);
    }
  });
}

}  // namespace
}  // namespace lockstep::testing
