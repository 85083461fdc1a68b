#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/platform_parts.hpp"

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
  /// process: SimGrid does not forget its platform.
  /// @param fabric must outlive the Machine
  /// @param parts what of it the platform has; routes over other links are refused
  /// @param settings of SimGrid's tracing, as check_tracing_setting() allows them
  Machine(const Fabric& fabric, const PlatformParts& parts, std::span<const std::string> settings = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] simgrid::s4u::Engine& engine() { return *engine_; }

  /// The host of a GPU or CPU socket; null when the platform does not have it.
  [[nodiscard]] simgrid::s4u::Host* host(VertexId vertex) const { return hosts_[vertex]; }

  /// Counts of what SimGrid says that its platform has.
  [[nodiscard]] std::size_t host_count() const;
  [[nodiscard]] std::size_t link_count() const;

 private:
  void start(std::span<const std::string> settings);

  std::unique_ptr<simgrid::s4u::Engine> engine_;
  std::vector<simgrid::s4u::Host*> hosts_;  // by vertex; null for those that it does not have
};

}  // namespace lockstep
