#pragma once

#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// The NVLinks of a fabric by the device they leave, looked up once for all groups. Keeps a reference.
class NvLinks {
 public:
  explicit NvLinks(const Fabric& fabric);

  /// None of a GPU without any peers (NCCL_P2P_DISABLE).
  [[nodiscard]] std::span<const LinkId> leaving(VertexId device) const;

  /// The NVLinks side by side with @p link, itself included; just itself when it is no NVLink. The hardware
  /// interleaves one message over all of them (by address), so a route over one of them loads them all.
  [[nodiscard]] std::span<const LinkId> bundle_of(const LinkId& link) const;

 private:
  [[nodiscard]] std::span<const LinkId> drawn_from(VertexId device) const;

  std::span<const Vertex> vertices_;
  std::span<const Link> links_;
  std::vector<std::uint32_t> first_;  // by device: where its links begin in sorted_; one more at the end
  std::vector<LinkId> sorted_;        // NVLinks by (from, to)
};

}  // namespace lockstep
