#include "sim/host_links.hpp"

#include <algorithm>

#include "sim/copy_plan.hpp"
#include "sim/executor.hpp"
#include "sim/link_use.hpp"

namespace lockstep {

std::optional<LinkId> HostLinks::bounding(VertexId gpu, const HostTraffic& traffic, double alone,
                                          double took) {
  constexpr double kPaced = 0.7;  // pinned copies take 0.93 of a link (configs/gpus/), staged ones up to 0.6
  constexpr double kSlowed = 1.05;  // by others on its links
  const Fabric& fabric = *executor_.spec().fabric;
  std::optional<LinkId> most_used;
  double longest = 0, most = 0;
  for (const TrafficPart& part : parts_of(traffic)) {
    for (const LinkId id : copy_route(fabric, gpu, part.path).links) {
      const Link& link = fabric.links()[id];
      longest = std::max(longest, part.share * traffic.total() / link.bandwidth / Seconds{1});
      if (use_of(id) > most) {
        most = use_of(id);
        most_used = id;
      }
    }
  }
  return longest >= kPaced * alone || took > kSlowed * alone ? most_used : std::nullopt;
}

double HostLinks::use_of(LinkId link) {
  if (use_.empty()) {
    use_.resize(executor_.spec().fabric->links().size());
    for (const LinkUse& use : link_use(executor_)) {
      use_[use.link] = use.bytes / executor_.spec().fabric->links()[use.link].bandwidth.in_base_units();
    }
  }
  return use_[link];
}

}  // namespace lockstep
