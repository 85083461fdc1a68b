#include "ops/collectives/collective_profile.hpp"

#include <bit>
#include <stdexcept>

namespace lockstep {
namespace {

void check_fraction(const char* key, double value) {
  if (!(value > 0 && value <= 1)) {
    throw FieldError{key, "must be greater than 0 and at most 1"};
  }
}

}  // namespace

void ProtocolCosts::check() const {
  for (const auto& [key, latency] : {std::pair{"base", base}, std::pair{"nvlink", nvlink},
                                     std::pair{"pcie", pcie}, std::pair{"network", network}}) {
    if (latency < Seconds{0}) {
      throw FieldError{key, "must not be negative"};
    }
  }
  if (host_memory && *host_memory < Seconds{0}) {
    throw FieldError{"host_memory", "must not be negative"};
  }
  if (!(wire_bytes >= 1)) {
    throw FieldError{"wire_bytes", "must be at least 1: the payload itself"};
  }
  check_fraction("line_fraction", line_fraction);
  for (const auto& [key, rate] :
       {std::pair{"max_bus_bandwidth", max_bus_bandwidth}, std::pair{"last_copy", last_copy}}) {
    if (rate && !(*rate > BytesPerSecond{0})) {
      throw FieldError{key, "must be greater than 0"};
    }
  }
}

void MessageCosts::check() const {
  if (channels < 1 || !std::has_single_bit(static_cast<unsigned>(channels))) {
    throw FieldError{"channels", "must be a power of two: NCCL halves and doubles them"};
  }
  if (!(channel_bandwidth > BytesPerSecond{0})) {
    throw FieldError{"channel_bandwidth", "must be greater than 0"};
  }
}

const std::optional<ProtocolCosts>& AlgorithmCosts::of(CommProtocol protocol) const {
  switch (protocol) {
    case CommProtocol::LL:
      return ll;
    case CommProtocol::LL128:
      return ll128;
    case CommProtocol::Simple:
      return simple;
  }
  throw std::logic_error("AlgorithmCosts::of: unknown CommProtocol");
}

void LinkEfficiency::check() const {
  check_fraction("nvlink", nvlink);
  check_fraction("pcie", pcie);
  check_fraction("network", network);
  check_fraction("host_memory", host_memory);
}

void CollectiveProfile::check() const {
  // nvls and pat may be without any: they are not used.
  for (const auto& [key, costs] : {std::pair{"ring", &ring}, std::pair{"tree", &tree},
                                   std::pair{"direct", &direct}, std::pair{"hierarchical", &hierarchical}}) {
    if (!costs->ll && !costs->ll128 && !costs->simple) {
      throw FieldError{key, "needs at least one of LL, LL128 and Simple"};
    }
  }
  check_keys<CollectiveProfile>(provenance);
}

const AlgorithmCosts& CollectiveProfile::of(CommAlgorithm algorithm) const {
  switch (algorithm) {
    case CommAlgorithm::Ring:
      return ring;
    case CommAlgorithm::Tree:
      return tree;
    case CommAlgorithm::Direct:
    case CommAlgorithm::Pxn:  // the same kernels; only the way to the NIC is another
      return direct;
    case CommAlgorithm::Hierarchical:
      return hierarchical;
    case CommAlgorithm::Nvls:
      return nvls;
    case CommAlgorithm::NvlsTree:
      return nvls_tree;
    case CommAlgorithm::Pat:
      return pat;
  }
  throw std::logic_error("CollectiveProfile::of: unknown CommAlgorithm");
}

CollectiveProfile ideal_collective_profile() {
  AlgorithmCosts free;
  free.simple = ProtocolCosts{};
  const Evidence links{Provenance::Derived, "the links of the fabric", 0.0, std::nullopt, {}};
  NetworkFabric wires;
  wires.name = "ideal";
  wires.source = "the links of the fabric and nothing else";
  wires.ring_slowdown = 1;
  wires.post = Seconds{0};
  wires.message = Seconds{0};
  wires.channel_rate = std::nullopt;
  wires.error = 0;
  CollectiveProfile ideal{wires.name, wires.source, {}, free, free, free, free, {}, {}, free, {}, wires, {}};
  for (const char* key : {"link_efficiency", "ring", "tree", "direct", "hierarchical", "pat"}) {
    ideal.provenance.emplace(key, links);
  }
  return ideal;
}

}  // namespace lockstep
