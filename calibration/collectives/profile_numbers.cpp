#include "calibration/collectives/profile_numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace lockstep {
namespace {

// NCCL's tables (tuning.cc) are for typical machines of a generation: latencies within a factor of 2, rates
// within 40 %. Efficiencies of links differ less.
constexpr double kLatencySpread = 0.7;
constexpr double kRateSpread = 0.35;
constexpr double kEfficiencySpread = 0.2;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

using Algorithm = AlgorithmCosts CollectiveProfile::*;
using Protocol = std::optional<ProtocolCosts> AlgorithmCosts::*;

struct Place {
  std::string key;
  Algorithm algorithm;
  Protocol protocol;
};

void add_latency(const CollectiveProfile& profile, const Place& place, const char* key,
                 Seconds ProtocolCosts::*latency, std::vector<ProfileNumber>& numbers) {
  const Seconds start = *(profile.*place.algorithm.*place.protocol).*latency;
  if (start > Seconds{0}) {
    numbers.push_back({place.key + key, start.in_base_units(), kLatencySpread, kUnbounded,
                       [place, latency](CollectiveProfile& changed, double value) {
                         *(changed.*place.algorithm.*place.protocol).*latency = Seconds{value};
                       },
                       [](double value) { return to_string(Seconds{value}); }});
  }
}

/// Adds host_memory; where it is left out a step takes what one over PCIe does, and moves with that.
void add_host_memory(const CollectiveProfile& profile, const Place& place,
                     std::vector<ProfileNumber>& numbers) {
  const std::optional<Seconds> start = (profile.*place.algorithm.*place.protocol)->host_memory;
  if (start && *start > Seconds{0}) {
    numbers.push_back({place.key + "host_memory", start->in_base_units(), kLatencySpread, kUnbounded,
                       [place](CollectiveProfile& changed, double value) {
                         (changed.*place.algorithm.*place.protocol)->host_memory = Seconds{value};
                       },
                       [](double value) { return to_string(Seconds{value}); }});
  }
}

void add_rate(const CollectiveProfile& profile, const Place& place, const char* key,
              std::optional<BytesPerSecond> ProtocolCosts::*rate, std::vector<ProfileNumber>& numbers) {
  if (const auto& start = (*(profile.*place.algorithm.*place.protocol)).*rate) {
    numbers.push_back({place.key + key, start->in_base_units(), kRateSpread, kUnbounded,
                       [place, rate](CollectiveProfile& changed, double value) {
                         (*(changed.*place.algorithm.*place.protocol)).*rate = BytesPerSecond{value};
                       },
                       [](double value) { return to_string(BytesPerSecond{value}); }});
  }
}

void add_efficiency(const CollectiveProfile& profile, const std::string& key,
                    double LinkEfficiency::*efficiency, std::vector<ProfileNumber>& numbers) {
  numbers.push_back({"link_efficiency." + key, profile.link_efficiency.*efficiency, kEfficiencySpread, 1,
                     [efficiency](CollectiveProfile& changed, double value) {
                       changed.link_efficiency.*efficiency = value;
                     },
                     [](double value) { return fmt::format("{:.4g}", value); }});
}

void add_network_time(const CollectiveProfile& profile, const char* key, Seconds NetworkFabric::*time,
                      std::vector<ProfileNumber>& numbers) {
  const Seconds start = (*profile.between_nodes).*time;
  if (start > Seconds{0}) {
    numbers.push_back({fmt::format("between_nodes.{}", key), start.in_base_units(), kLatencySpread,
                       kUnbounded,
                       [time](CollectiveProfile& changed, double value) {
                         (*changed.between_nodes).*time = Seconds{value};
                       },
                       [](double value) { return to_string(Seconds{value}); }});
  }
}

void add_network_rate(const CollectiveProfile& profile, const char* key,
                      std::optional<BytesPerSecond> NetworkFabric::*rate,
                      std::vector<ProfileNumber>& numbers) {
  if (const auto& start = (*profile.between_nodes).*rate) {
    numbers.push_back({fmt::format("between_nodes.{}", key), start->in_base_units(), kRateSpread, kUnbounded,
                       [rate](CollectiveProfile& changed, double value) {
                         (*changed.between_nodes).*rate = BytesPerSecond{value};
                       },
                       [](double value) { return to_string(BytesPerSecond{value}); }});
  }
}

/// How long a step between nodes takes is each protocol's `network`: the fabric's own addition stays.
void add_network(const CollectiveProfile& profile, std::vector<ProfileNumber>& numbers) {
  add_network_time(profile, "post", &NetworkFabric::post, numbers);
  add_network_time(profile, "message", &NetworkFabric::message, numbers);
  add_network_time(profile, "handshake", &NetworkFabric::handshake, numbers);
  add_network_rate(profile, "channel_rate", &NetworkFabric::channel_rate, numbers);
  add_network_rate(profile, "proxy_rate", &NetworkFabric::proxy_rate, numbers);
}

}  // namespace

std::vector<ProfileNumber> numbers_of(const CollectiveProfile& profile) {
  static constexpr std::array kAlgorithms{std::pair{"ring", &CollectiveProfile::ring},
                                          std::pair{"tree", &CollectiveProfile::tree},
                                          std::pair{"direct", &CollectiveProfile::direct},
                                          std::pair{"hierarchical", &CollectiveProfile::hierarchical},
                                          std::pair{"nvls", &CollectiveProfile::nvls},
                                          std::pair{"nvls_tree", &CollectiveProfile::nvls_tree},
                                          std::pair{"pat", &CollectiveProfile::pat}};
  static constexpr std::array kProtocols{std::pair{"LL", &AlgorithmCosts::ll},
                                         std::pair{"LL128", &AlgorithmCosts::ll128},
                                         std::pair{"Simple", &AlgorithmCosts::simple}};
  std::vector<ProfileNumber> numbers;
  add_efficiency(profile, "nvlink", &LinkEfficiency::nvlink, numbers);
  add_efficiency(profile, "pcie", &LinkEfficiency::pcie, numbers);
  add_efficiency(profile, "network", &LinkEfficiency::network, numbers);
  add_efficiency(profile, "host_memory", &LinkEfficiency::host_memory, numbers);
  for (const auto& [algorithm_name, algorithm] : kAlgorithms) {
    for (const auto& [protocol_name, protocol] : kProtocols) {
      if (!(profile.*algorithm.*protocol)) {
        continue;
      }
      const Place place{fmt::format("{}.{}.", algorithm_name, protocol_name), algorithm, protocol};
      add_latency(profile, place, "base", &ProtocolCosts::base, numbers);
      add_latency(profile, place, "nvlink", &ProtocolCosts::nvlink, numbers);
      add_latency(profile, place, "pcie", &ProtocolCosts::pcie, numbers);
      add_latency(profile, place, "network", &ProtocolCosts::network, numbers);
      add_host_memory(profile, place, numbers);
      add_rate(profile, place, "max_bus_bandwidth", &ProtocolCosts::max_bus_bandwidth, numbers);
      add_rate(profile, place, "last_copy", &ProtocolCosts::last_copy, numbers);
    }
  }
  if (profile.between_nodes) {
    add_network(profile, numbers);
  }
  return numbers;
}

}  // namespace lockstep
