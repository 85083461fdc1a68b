#include "sim/machine.hpp"

#include <malloc.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "ops/collectives/comm_route.hpp"
#include "ops/collectives/nvlinks.hpp"
#include "sim/simgrid_compat.hpp"
#include "sim/tracing.hpp"

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
  explicit FabricZone(const Fabric& fabric)
      : NetZoneImpl("fabric"), fabric_{fabric}, links_(fabric.links().size(), nullptr) {}

  void adopt(const NetPoint* point, VertexId vertex) {
    if (vertices_.size() <= point->id()) {
      vertices_.resize(point->id() + 1);
    }
    vertices_[point->id()] = vertex;
  }
  void adopt(s4u::Link* link, LinkId id) { links_[id] = link; }

  void get_local_route(const NetPoint* from, const NetPoint* to, SimgridRoute* route,
                       double* latency) override {
    const lockstep::Route path = path_between(vertices_[from->id()], vertices_[to->id()]);
    for (const LinkId link : path.links) {
      if (links_[link] == nullptr) {
        throw std::logic_error{"a route over '" + fabric_.name_of(link) + "', which no plan loads"};
      }
      route->link_list_.push_back(links_[link]->get_impl());
    }
    if (latency != nullptr) {
      *latency += path.latency.in_base_units();
    }
  }

 private:
  /// Messages between GPUs go where a collective's would, so that `flows` loads the links that `shared` does.
  [[nodiscard]] lockstep::Route path_between(VertexId from, VertexId to) {
    const auto is_gpu = [this](VertexId v) { return fabric_.vertices()[v].kind == VertexKind::Gpu; };
    if (!is_gpu(from) || !is_gpu(to)) {
      return fabric_.route(from, to);
    }
    if (!nvlinks_) {
      nvlinks_.emplace(fabric_);
    }
    return comm_route(fabric_, *nvlinks_, from, to, 0);
  }

  const Fabric& fabric_;
  std::optional<NvLinks> nvlinks_;  // made for the first route
  std::vector<VertexId> vertices_;  // by NetPoint
  std::vector<s4u::Link*> links_;   // by LinkId; null for those that the platform does not have
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

}  // namespace

void Machine::start(std::span<const std::string> settings) {
  static bool started = false;  // Engine::is_initialized() forgets an engine that has been destroyed
  if (std::exchange(started, true)) {
    throw std::logic_error("one machine per process: SimGrid does not forget its platform");
  }
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);  // actor stacks stay untouched mappings: glibc would raise the
  mallopt(M_MMAP_MAX, 1 << 24);           // threshold as it goes, and calloc then writes them
  std::vector<std::string> words{"lockstep", "--log=root.thres:critical"};
  if (kThreadStacks) {
    words.emplace_back("--cfg=contexts/factory:thread");
  }
  for (const std::string& setting : with_fine_dates(settings)) {
    words.push_back("--cfg=" + setting);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  engine_ = std::make_unique<s4u::Engine>(&count, arguments.data());
  configure();
}

Machine::Machine(const Fabric& fabric, const PlatformParts& parts, std::span<const std::string> settings)
    : hosts_(fabric.vertices().size(), nullptr) {
  constexpr double kNominalSpeed = 1e9;  // kernel models say how long work takes, not SimGrid's hosts
  start(settings);
  auto* routes = new FabricZone(fabric);  // SimGrid owns its zones
  s4u::NetZone* zone = simgrid_compat::attach(*engine_, routes);
  for (const VertexId vertex : parts.hosts) {
    hosts_[vertex] = simgrid_compat::add_host(zone, fabric.vertices()[vertex].name, kNominalSpeed);
    routes->adopt(hosts_[vertex]->get_netpoint(), vertex);
  }
  for (const LinkId id : parts.links) {
    const Link& link = fabric.links()[id];
    auto* made = simgrid_compat::add_link(zone, fabric.name_of(id), link.bandwidth.in_base_units());
    made->set_latency(link.latency.in_base_units());
    routes->adopt(made, id);
  }
  zone->seal();
  engine_->seal_platform();
}

std::size_t Machine::host_count() const {
  return engine_->get_host_count();
}

std::size_t Machine::link_count() const {
  const auto is_ours = [](const s4u::Link* link) { return link->get_name() != "__loopback__"; };
  return engine_->get_filtered_links(is_ours).size();  // SimGrid gives every platform a link within hosts
}

Machine::~Machine() = default;

}  // namespace lockstep
