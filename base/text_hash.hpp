#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// FNV-1a, 64 bits (draft-eastlake-fnv): a text as a number.
constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace lockstep
