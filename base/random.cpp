#include "base/random.hpp"

namespace lockstep {
namespace {

/// FNV-1a, 64 bits (draft-eastlake-fnv): a name as a number.
std::uint64_t hash(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

Random::Random(std::uint64_t seed, std::string_view name) : key_{mixed(mixed(seed + kGamma) ^ hash(name))} {}

}  // namespace lockstep
