#include "sim/machine.hpp"

#include <malloc.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "ops/collectives/comm_route.hpp"
#include "ops/collectives/nvlinks.hpp"
#include "sim/simgrid_compat.hpp"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;
using SimgridRoute = Route;

/// The zone that asks the Fabric for routes.
class FabricZone final : public NetZoneImpl {
 public:
  explicit FabricZone(const Fabric& fabric) : NetZoneImpl("fabric"), fabric_{fabric} {}

  void adopt(const NetPoint* point, VertexId vertex) {
    if (vertices_.size() <= point->id()) {
      vertices_.resize(point->id() + 1);
    }
    vertices_[point->id()] = vertex;
  }
  void adopt(s4u::Link* link) { links_.push_back(link); }

  void get_local_route(const NetPoint* from, const NetPoint* to, SimgridRoute* route,
                       double* latency) override {
    const lockstep::Route path = path_between(vertices_[from->id()], vertices_[to->id()]);
    for (const LinkId link : path.links) {
      route->link_list_.push_back(links_[link]->get_impl());
    }
    if (latency != nullptr) {
      *latency += path.latency.in_base_units();
    }
  }

 private:
  /// Messages between GPUs go where a collective's would, so that `flows` loads the links that `shared` does.
  [[nodiscard]] lockstep::Route path_between(VertexId from, VertexId to) const {
    const auto is_gpu = [this](VertexId v) { return fabric_.vertices()[v].kind == VertexKind::Gpu; };
    return is_gpu(from) && is_gpu(to) ? comm_route(fabric_, nvlinks_, from, to, 0) : fabric_.route(from, to);
  }

  const Fabric& fabric_;
  NvLinks nvlinks_{fabric_};
  std::vector<VertexId> vertices_;  // by NetPoint
  std::vector<s4u::Link*> links_;
};

/// Nowhere and nothing in it.
class EmptyZone final : public NetZoneImpl {
 public:
  EmptyZone() : NetZoneImpl("clock") {}
  void get_local_route(const NetPoint* /*from*/, const NetPoint* /*to*/, SimgridRoute* /*route*/,
                       double* /*latency*/) override {}
};

/// AddressSanitizer knows the stacks of threads only.
#if defined(__has_feature)
constexpr bool kThreadStacks = __has_feature(address_sanitizer);
#else
constexpr bool kThreadStacks = false;
#endif

/// Equal shares for flows of unlike latency, full bandwidth, no TCP artefacts.
void configure() {
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e18",
                              "network/latency-factor:0", "network/weight-S:0", "network/optim:Lazy"}) {
    s4u::Engine::set_config(std::string{setting});
  }
  if (!kThreadStacks) {  // small, since there are many
    s4u::Engine::set_config(std::string{"contexts/guard-size:0"});
    s4u::Engine::set_config(std::string{"contexts/stack-size:256"});
  }
  simgrid_compat::set_precision("1e-12");
}

bool is_endpoint(VertexKind kind) {
  return kind == VertexKind::Gpu || kind == VertexKind::CpuSocket;
}

}  // namespace

Machine::Machine() {
  start();
  simgrid_compat::attach(*engine_, new EmptyZone)->seal();  // SimGrid owns its zones
  engine_->seal_platform();
}

void Machine::start() {
  static bool started = false;  // Engine::is_initialized() forgets an engine that has been destroyed
  if (std::exchange(started, true)) {
    throw std::logic_error("one simulation per process: SimGrid's clock does not restart");
  }
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);  // actor stacks stay untouched mappings: glibc would raise the
  mallopt(M_MMAP_MAX, 1 << 24);           // threshold as it goes, and calloc then writes them
  std::array<char, 9> name{"lockstep"};
  std::array<char, 26> quiet{"--log=root.thres:critical"};
  std::array<char, 30> threads{"--cfg=contexts/factory:thread"};
  std::array<char*, 4> arguments{name.data(), quiet.data(), threads.data(), nullptr};
  int count = kThreadStacks ? 3 : 2;
  engine_ = std::make_unique<s4u::Engine>(&count, arguments.data());
  configure();
}

Machine::Machine(const Fabric& fabric) : hosts_(fabric.vertices().size(), nullptr) {
  start();
  auto* routes = new FabricZone(fabric);  // SimGrid owns its zones
  s4u::NetZone* zone = simgrid_compat::attach(*engine_, routes);
  for (VertexId vertex = 0; vertex < fabric.vertices().size(); ++vertex) {
    if (is_endpoint(fabric.vertices()[vertex].kind)) {
      hosts_[vertex] = simgrid_compat::add_host(zone, fabric.vertices()[vertex].name, 1e9);
      routes->adopt(hosts_[vertex]->get_netpoint(), vertex);
    }
  }
  for (const Link& link : fabric.links()) {
    auto* made = simgrid_compat::add_link(zone, link.name, link.bandwidth.in_base_units());
    made->set_latency(link.latency.in_base_units());
    routes->adopt(made);
  }
  zone->seal();
  engine_->seal_platform();
}

Machine::~Machine() = default;

}  // namespace lockstep
