#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ops/collectives/nvlinks.hpp"
#include "topology/alike_nodes.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The class of a step by the slowest kind of link on its way.
enum class HopClass : std::uint8_t { NvLink, Pcie, HostMemory, Network };

/// The load that a message from one GPU to another puts on a link.
struct PairLoad {
  LinkId link = 0;
  double requests = 1;  ///< share of its bytes that are sent, less than 1 where they are asked for
  double part = 1;      ///< of these, what this link of several side by side takes

  bool operator==(const PairLoad&) const = default;
};

/// The way of a message from one GPU to another: comm_route(), with the links beside it that share its load.
struct PairWay {
  HopClass kind = HopClass::NvLink;
  Seconds latency;
  std::vector<PairLoad> loads;  ///< in the order in which it crosses them; one may stand there twice
  bool is_hashed = false;       ///< another flow of the same pair may go another way
};

/// Ways between GPUs. Pairs that differ by copies of nodes alone (topology/alike_nodes.hpp) are routed once,
/// unless a hash of the ends chose the way. What a GPU reads from host memory it asks for line by line: the
/// requests load its way up (docs/collectives.md). Keeps references. Not thread-safe.
class PairWays {
 public:
  PairWays(const Fabric& fabric, const NvLinks& nvlinks)
      : fabric_{fabric}, nvlinks_{nvlinks}, nodes_{fabric.alike_nodes()} {}

  /// @return what holds until the next call
  const PairWay& between(VertexId from, VertexId to, std::uint64_t flow);

 private:
  /// A load where the link is named by its place, for any pair of the same two classes.
  struct PlacedLoad {
    enum class End : std::uint8_t { Outside, Sender, Receiver } end = End::Outside;
    std::uint32_t number = 0;
    double requests = 1;
    double part = 1;
  };
  struct Pattern {
    HopClass kind = HopClass::NvLink;
    Seconds latency;
    std::vector<PlacedLoad> loads;
    bool is_hashed = false;  ///< then there are no loads: each pair has its own
  };

  [[nodiscard]] PairWay routed(VertexId from, VertexId to, std::uint64_t flow) const;
  void add_loads(PairWay& way, std::span<const LinkId> links, double requests) const;
  [[nodiscard]] Pattern pattern_of(const PairWay& way, VertexId from, VertexId to) const;
  void place(const Pattern& pattern, VertexId from, VertexId to);

  const Fabric& fabric_;
  const NvLinks& nvlinks_;
  const AlikeNodes& nodes_;
  std::unordered_map<std::uint64_t, Pattern> patterns_;  // by the classes of both ends
  PairWay latest_;
};

}  // namespace lockstep
