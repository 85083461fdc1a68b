#include "traces/chakra/node_streams.hpp"

#include <fmt/format.h>

#include <array>

#include "traces/chakra/messages.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::array<const char*, 2> kUsual{"compute", "communication"};
constexpr std::uint32_t kMostLines = 28;  // of each direction: a rank has at most 64 threads and streams

}  // namespace

NodeStreams::NodeStreams(const TraceGraph& graph, const TraceTables& tables)
    : graph_{graph}, tables_{tables} {
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    of_node_.push_back(number_of(node));
  }
}

std::uint32_t NodeStreams::number_of(std::uint32_t node) {
  if (graph_.is_memory(node)) {
    return further("memory");
  }
  if (!graph_.is_collective(node)) {
    return usual(0);
  }
  const TraceTables::Call& call = tables_.call(graph_.call(node));
  if (!call.is_message()) {
    return usual(1);
  }
  const bool sends = call.kind == CollectiveKind::Send;
  auto& lines = sends ? to_ : from_;
  const auto [line, fresh] =
      lines.try_emplace(peer_of(call), static_cast<std::uint32_t>(lines.size()) % kMostLines);
  return further(fmt::format("{} {}", sends ? "send" : "receive", line->second));
}

std::uint32_t NodeStreams::usual(std::uint32_t place) {
  while (names_.size() <= place) {
    names_.emplace_back(kUsual.at(names_.size()));
  }
  return place;
}

/// They come after those two that most traces have.
std::uint32_t NodeStreams::further(const std::string& name) {
  (void)usual(1);
  const auto [known, fresh] = numbers_.try_emplace(name, count());
  if (fresh) {
    names_.push_back(name);
  }
  return known->second;
}

}  // namespace lockstep::chakra
