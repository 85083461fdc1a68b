#include "ops/collectives/nccl_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace lockstep {
namespace {

constexpr double kMicro = 1e-6;

/// Latencies of one algorithm, us: LL, LL128, Simple.
using OfProtocols = std::array<double, 3>;

struct Latencies {
  OfProtocols base, nvlink, pcie, network;
};

// tuning.cc, baseLatencies and hwLatencies
constexpr Latencies kRingLatencies{{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {1, 2.5, 5.7}, {2.7, 4, 14}};
constexpr Latencies kTreeLatencies{{6.8, 14, 8.4}, {0.6, 1.25, 4}, {1, 1.9, 4}, {5, 8.5, 14}};
constexpr double kNvlsTreeInside = 25, kNvlsTreeBetween = 20.9;
constexpr double kPatBase = 8, kPatLevel = 14 / 3.5, kPatMember = 2.8;
constexpr double kPlateau = 1.4;  // of rings with Simple

// tuning.cc, treeCorrectionFactor: powers of two from 64 B
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

double correction(CommProtocol protocol, Bytes size) {
  const auto units = static_cast<std::uint64_t>(size.in_base_units()) >> 6U;
  const auto place = static_cast<std::size_t>(std::bit_width(units) - (units > 0 ? 1 : 0));
  const auto& factors = kTreeCorrection[static_cast<std::size_t>(protocol)];
  return units > 0 && place < factors.size() - 1 ? factors[place] : 1;
}

int passes_of(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ? 2 : 1;
}

double ring_latency(const NcclView& view, std::size_t protocol) {
  const Latencies& table = kRingLatencies;
  const bool is_simple = protocol == 2;
  const int between = passes_of(view.kind) * (view.nodes - 1);
  const int within = passes_of(view.kind) * (view.members - 1) - between;
  const double post = (view.has_amd_cpu ? 2.0 : 1.0) * (is_simple ? 3 : 1);
  const double step = std::max((view.has_nvlink ? table.nvlink : table.pcie)[protocol], post);
  const auto& network = view.members == view.nodes ? kTreeLatencies.network : table.network;
  const double latency = table.base[protocol] + within * step + between * network[protocol];
  return is_simple && view.kind == CollectiveKind::AllReduce ? kPlateau * latency : latency;
}

BytesPerSecond ring_rate(const NcclView& view, CommProtocol protocol) {
  switch (protocol) {
    case CommProtocol::LL:
      return std::min(fastest_ll(view.nodes, view.has_amd_cpu), 0.5 * view.ring_rate);
    case CommProtocol::LL128:
      return 0.92 * view.ring_rate;
    case CommProtocol::Simple:
      break;
  }
  return view.ring_rate;
}

/// Most that a channel carries of a tree: on two nodes, on more (tuning.cc, perChMaxTreeBws).
struct TreeChannel {
  BytesPerSecond least_nvlink;  ///< of the first GPU generation that has these
  double of_two, of_more;       ///< GB/s
  bool doubles;                 ///< on two nodes; NCCL at the time of Volta (2.7) did not
};
constexpr std::array kTreeChannels{TreeChannel{BytesPerSecond{800e9}, 42.8, 24, true},    // Blackwell
                                   TreeChannel{BytesPerSecond{400e9}, 41.4, 36, true},    // Hopper
                                   TreeChannel{BytesPerSecond{200e9}, 23.6, 17.8, true},  // Ampere
                                   TreeChannel{BytesPerSecond{0}, 18.5, 10, false}};      // Volta, PCIe

BytesPerSecond tree_bus(const NcclView& view) {
  const auto& channel = *std::ranges::find_if(
      kTreeChannels, [&](const TreeChannel& row) { return view.nvlink >= row.least_nvlink; });
  const bool is_pair = view.nodes == 2;
  const double gain = is_pair && channel.doubles ? 2 : 1;
  const double most = is_pair ? channel.of_two : channel.of_more;
  return std::min(0.92 * gain * view.ring_rate, view.nics * BytesPerSecond{most * 1e9});
}

BytesPerSecond tree_rate(const NcclView& view, CommProtocol protocol) {
  const BytesPerSecond rate = tree_bus(view);
  switch (protocol) {
    case CommProtocol::LL:
      return std::min(rate / 3.8, fastest_ll(view.nodes, view.has_amd_cpu));
    case CommProtocol::LL128:
      return rate * (120.0 / 128);
    case CommProtocol::Simple:
      break;
  }
  return rate;
}

}  // namespace

BytesPerSecond fastest_ll(int nodes, bool has_amd_cpu) {
  if (nodes == 2) {
    return BytesPerSecond{has_amd_cpu ? 22.5e9 : 39e9};
  }
  return BytesPerSecond{has_amd_cpu ? 19e9 : 20.4e9};
}

Seconds time_by_nccl(const NcclView& view, CommAlgorithm algorithm, CommProtocol protocol) {
  const auto place = static_cast<std::size_t>(protocol);
  const double levels = std::bit_width(static_cast<unsigned>(view.nodes)) - 1;  // log2i
  const double members = view.members;
  const double per_bus = members / (passes_of(view.kind) * (members - 1));
  switch (algorithm) {
    case CommAlgorithm::Ring:
      return Seconds{kMicro * ring_latency(view, place)} + view.size / (per_bus * ring_rate(view, protocol));
    case CommAlgorithm::Tree: {
      const auto& inside = view.has_nvlink ? kTreeLatencies.nvlink : kTreeLatencies.pcie;
      const double latency = kTreeLatencies.base[place] + 2 * ((members / view.nodes - 1) * inside[place] +
                                                               levels * kTreeLatencies.network[place]);
      return Seconds{kMicro * latency} +
             view.size / (0.5 * correction(protocol, view.size) * tree_rate(view, protocol));
    }
    case CommAlgorithm::NvlsTree:
      return Seconds{kMicro * (kNvlsTreeInside + 2 * levels * kNvlsTreeBetween)} +
             view.size / (per_bus * (view.nodes == 2 ? 2.0 : 1.0) * view.ring_rate);
    case CommAlgorithm::Pat:
      return Seconds{kMicro * (kPatBase + levels * kPatLevel + members * kPatMember)} +
             view.size / (0.75 * per_bus * view.ring_rate);
    default:
      throw std::logic_error("time_by_nccl: no choice between nodes");
  }
}

}  // namespace lockstep
