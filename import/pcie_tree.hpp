#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "import/machine.hpp"

namespace lockstep::importing {

/// PCIe switches and sockets that devices of a node share, as nvidia-smi names it: PIX: one switch; PXB:
/// several switches below one root port; PHB: the host bridge; NODE: the socket; SYS: more than one.
class PcieTree {
 public:
  explicit PcieTree(std::size_t devices);

  /// @param kind PIX, PXB, PHB, NODE or SYS; others say nothing of PCIe
  void connect(std::size_t a, std::size_t b, const std::string& kind);
  /// @param numa the node's number, or anything else where it is not known
  void say_socket(std::size_t device, const std::string& numa);

  /// All devices on one socket where nothing says on which any is.
  void join_strangers();

  /// Devices of each switch, at least two each; the others hang on their socket.
  [[nodiscard]] std::vector<std::vector<std::size_t>> switches() const;
  /// The root switch of a device's switch (PXB), by a device of it; itself without one.
  [[nodiscard]] std::size_t root_of(std::size_t device) const;
  [[nodiscard]] std::size_t socket_of(std::size_t device) const;
  [[nodiscard]] std::size_t sockets() const;
  [[nodiscard]] std::size_t devices() const { return switch_.size(); }

 private:
  std::vector<std::size_t> switch_, root_, socket_;  // the least device of each group
  std::map<std::string, std::size_t> first_of_numa_;
};

/// Draws its switches and sockets.
void draw(const PcieTree& tree, const std::function<std::string(std::size_t)>& name, const GpuLinks& links,
          const SourceLocation& at, NodeDrawing& drawing);

}  // namespace lockstep::importing
