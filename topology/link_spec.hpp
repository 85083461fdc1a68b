#pragma once

#include <string>

#include "base/parameters.hpp"
#include "base/units.hpp"
#include "topology/drawing.hpp"
#include "topology/kinds.hpp"
#include "topology/path_cost.hpp"

namespace lockstep {

/// One kind of cable, lane bundle or socket interconnect (configs/links/).
struct LinkSpec {
  static constexpr const char* kConfigKind = "links";

  std::string name;
  std::string source;
  LinkKind kind = LinkKind::NvLink;
  BytesPerSecond line_rate;
  double payload = 1;
  Seconds latency;

  template <class Visitor>
  static void describe(Visitor& key, LinkSpec& link) {
    key.required("name", link.name, "identifier");
    key.required("source", link.source, "where the numbers come from");
    key.required("kind", link.kind, "nvlink, pcie, socket or network");
    key.required("line_rate", link.line_rate,
                 "of one link in one direction, after the line code, e.g. 25 GB/s");
    key.optional("payload", link.payload, 1,
                 "share of the line rate left for payload by packet headers, 0 to 1");
    key.required("latency", link.latency, "of one traversal, forwarding by the device at its end included");
  }

  void check() const {
    if (kind == LinkKind::HostMemory) {
      throw FieldError{"kind", "host memory is no link: say 'memory_bandwidth' of a cpu"};
    }
    if (!(line_rate > BytesPerSecond{0})) {
      throw FieldError{"line_rate", "must be greater than 0"};
    }
    if (!(payload > 0) || payload > 1) {
      throw FieldError{"payload", "must be greater than 0 and at most 1"};
    }
    if (latency < Seconds{0} || latency > kLongestLatency) {
      throw FieldError{"latency", "must be 0 to " + to_string(kLongestLatency)};
    }
  }

  /// @p count links side by side that stripe what they carry.
  [[nodiscard]] Wire wire(int count = 1) const { return {kind, count * payload * line_rate, latency}; }
};

}  // namespace lockstep
