#include "ops/workload/layers/lookup_pass.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using namespace lookup_pass;

constexpr std::array kPasses{
    kCheckIndices, kLinearizeIndex, kLinearizeCacheIndices, kSortSingleTile, kSortHistogram, kSortOnesweep,
    kReduceByKey,  kScan,           kFindLongSegments,      kFindUncached,   kLookUpCache};

constexpr std::int64_t kWarp = 32;

/// Rounds of a warp over the lookups of its bags, all as long as the mean.
std::int64_t rounds(std::int64_t lookups, std::int64_t bags) {
  const std::int64_t of_a_bag = bags < 1 ? 0 : (lookups + bags - 1) / bags;
  return std::min(bags, kWarp) * ((of_a_bag + kWarp - 1) / kWarp);
}

}  // namespace

KernelCall pass_over(const LookupPass& pass, std::int64_t lookups, std::int64_t bags) {
  return {pass.kernel, pass.type,
          Pointwise{.elements = lookups,
                    .reads = pass.reads,
                    .writes = pass.writes,
                    .flops = 1,
                    .chain = pass.chain + pass.of_bags * rounds(lookups, bags)}};
}

const LookupPass* lookup_pass_of(std::string_view kernel) {
  const auto pass = std::ranges::find_if(
      kPasses, [&](const LookupPass& one) { return kernel.find(one.kernel) != std::string_view::npos; });
  return pass == kPasses.end() ? nullptr : &*pass;
}

}  // namespace lockstep
