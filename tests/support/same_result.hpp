#pragma once

/// @file
/// Two results of one job, compared to the last bit.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/simulation.hpp"

namespace lockstep::testing {

inline bool same_totals(const StreamTotals& a, const StreamTotals& b) {
  return a.compute == b.compute && a.copy == b.copy && a.waiting == b.waiting && a.transfer == b.transfer;
}

inline bool same_activity(const Activity& a, const Activity& b) {
  return a.compute == b.compute && a.copy == b.copy && a.exposed_transfer == b.exposed_transfer &&
         a.exposed_waiting == b.exposed_waiting;
}

inline bool same_share(const CriticalShare& a, const CriticalShare& b) {
  return a.what == b.what && a.seconds == b.seconds && a.pieces == b.pieces && a.bottleneck == b.bottleneck;
}

inline std::string path_of(const SimulationResult& result) {
  std::string text;
  for (const CriticalShare& share : result.critical_path) {
    text += fmt::format("\n    {} {:.17g} s, {} pieces, {}", share.what, share.seconds, share.pieces,
                        share.bottleneck);
  }
  return text;
}

/// The first difference; empty: none. Neither real time nor how many ranks were simulated counts.
inline std::string difference(const SimulationResult& a, const SimulationResult& b) {
  if (a.step_ends != b.step_ends) {
    return fmt::format("step ends: {:.17g} and {:.17g} s", a.step_ends.back(), b.step_ends.back());
  }
  if (a.operations != b.operations || a.launches != b.launches || a.ranks.size() != b.ranks.size()) {
    return "operations, launches or ranks";
  }
  for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
    if (!std::ranges::equal(a.ranks[rank].streams, b.ranks[rank].streams, same_totals) ||
        a.ranks[rank].host_blocked != b.ranks[rank].host_blocked) {
      std::string text = fmt::format("totals of rank {}:", rank);
      for (std::size_t stream = 0; stream < a.ranks[rank].streams.size(); ++stream) {
        for (const StreamTotals& of : {a.ranks[rank].streams[stream], b.ranks[rank].streams[stream]}) {
          text += fmt::format("\n    stream {}: compute {}, copy {}, waiting {}, transfer {}", stream,
                              of.compute, of.copy, of.waiting, of.transfer);
        }
      }
      return text;
    }
  }
  if (a.fingerprint != b.fingerprint) {
    return "fingerprint";
  }
  if (!std::ranges::equal(a.metered, b.metered, [](const MeteredRank& x, const MeteredRank& y) {
        return x.rank == y.rank && same_activity(x.activity, y.activity);
      })) {
    return "activity of metered ranks";
  }
  if (!std::ranges::equal(a.links, b.links, [](const LinkUse& x, const LinkUse& y) {
        return x.link == y.link && x.bytes == y.bytes;
      })) {
    return "bytes on links";
  }
  if (!std::ranges::equal(a.critical_path, b.critical_path, same_share)) {
    return "critical path:" + path_of(a) + "\n  and" + path_of(b);
  }
  return {};
}

}  // namespace lockstep::testing
