#include "base/random.hpp"

#include "base/text_hash.hpp"

namespace lockstep {

Random::Random(std::uint64_t seed, std::string_view name)
    : key_{mixed(mixed(seed + kGamma) ^ text_hash(name))} {}

}  // namespace lockstep
