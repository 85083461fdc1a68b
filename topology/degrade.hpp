#pragma once

#include <span>
#include <string>

#include "base/parameters.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// A fault of some links of a scenario.
struct LinkFault {
  std::string links;
  double bandwidth = 1;
  Seconds extra_latency;

  template <class Visitor>
  static void describe(Visitor& key, LinkFault& fault) {
    key.required("links", fault.links,
                 "names or patterns of links, e.g. node0.nic0->leaf0 or 'node3.*'; a direction each");
    key.optional("bandwidth", fault.bandwidth, 1,
                 "factor, greater than 0; several faults of a link multiply");
    key.optional("extra_latency", fault.extra_latency, Seconds{0}, "added to every traversal");
  }

  void check() const {
    if (!(bandwidth > 0)) {
      throw FieldError{"bandwidth", "must be greater than 0; a broken link is named in vary.failed"};
    }
    if (extra_latency < Seconds{0}) {
      throw FieldError{"extra_latency", "must not be negative"};
    }
  }
};

/// A copy of @p fabric whose links have the faults. Routes stay those of the sound machine as long as no
/// latency changes: routing does not look at bandwidths.
/// @throws std::invalid_argument for a fault that is none (check()) or whose pattern no link matches
[[nodiscard]] Fabric with_faults(const Fabric& fabric, std::span<const LinkFault> faults);

}  // namespace lockstep
