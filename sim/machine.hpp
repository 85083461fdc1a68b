#pragma once

#include <memory>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace simgrid::s4u {
class Engine;
class Host;
}  // namespace simgrid::s4u

namespace lockstep {

/// A Fabric as a SimGrid platform: one host per GPU and CPU socket, one SimGrid link per directed link, and
/// one zone that computes routes by asking the Fabric. Nothing else knows SimGrid platforms.
class Machine {
 public:
  /// Starts SimGrid and configures it for plain max-min sharing (docs/architecture.md). At most once per
  /// process: SimGrid keeps its clock. @param fabric must outlive the Machine
  explicit Machine(const Fabric& fabric);
  /// SimGrid's engine and its clock, without hosts and links: for networks that are not SimGrid's and ranks
  /// that are none of its actors.
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] simgrid::s4u::Engine& engine() { return *engine_; }

  /// The host of a GPU or CPU socket.
  [[nodiscard]] simgrid::s4u::Host* host(VertexId vertex) const { return hosts_[vertex]; }

 private:
  void start();

  std::unique_ptr<simgrid::s4u::Engine> engine_;
  std::vector<simgrid::s4u::Host*> hosts_;  // by vertex; null for switches and NICs
};

}  // namespace lockstep
