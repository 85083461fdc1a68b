#include "topology/network_fabric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

void check_words(const char* key, const std::vector<std::string>& words,
                 std::initializer_list<std::string_view> known) {
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) == known.end()) {
      throw FieldError{key, fmt::format("'{}' is none of {}", word, fmt::join(known, ", "))};
    }
  }
}

}  // namespace

void ProtocolTimes::check() const {
  for (const auto& [key, time] : {std::pair{"LL", ll}, {"LL128", ll128}, {"Simple", simple}}) {
    if (time < Seconds{0}) {
      throw FieldError{key, "must not be negative"};
    }
  }
}

void NetworkFabric::check() const {
  for (const auto& [key, time] : {std::pair{"post", post}, {"message", message}, {"handshake", handshake}}) {
    if (time < Seconds{0}) {
      throw FieldError{key, "must not be negative"};
    }
  }
  for (const auto& [key, size] : {std::pair{"buffer", buffer}, {"message_size", message_size}}) {
    if (!(size > Bytes{0})) {
      throw FieldError{key, "must be greater than 0"};
    }
  }
  if (eager < Bytes{0}) {
    throw FieldError{"eager", "must not be negative"};
  }
  if (!(ring_slowdown >= 1)) {
    throw FieldError{"ring_slowdown", "must be at least 1"};
  }
  for (const auto& [key, rate] : {std::pair{"channel_rate", channel_rate}, {"proxy_rate", proxy_rate}}) {
    if (rate && !(*rate > BytesPerSecond{0})) {
      throw FieldError{key, "must be greater than 0"};
    }
  }
  if (!(efficiency > 0 && efficiency <= 1)) {
    throw FieldError{"efficiency", "must be greater than 0 and at most 1"};
  }
  if (!(error >= 0)) {
    throw FieldError{"error", "must not be negative"};
  }
  check_words("protocols", protocols, {"LL", "LL128", "Simple"});
  check_words("algorithms", algorithms, {"ring", "tree", "nvls_tree"});
  check_keys<NetworkFabric>(provenance);
}

}  // namespace lockstep
