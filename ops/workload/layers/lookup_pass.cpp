#include "ops/workload/layers/lookup_pass.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using namespace lookup_pass;

constexpr std::array kPasses{
    kCheckIndices, kLinearizeIndex, kLinearizeCacheIndices, kSortSingleTile, kSortHistogram, kSortOnesweep,
    kReduceByKey,  kScan,           kFindLongSegments,      kFindUncached,   kLookUpCache};

}  // namespace

const LookupPass* lookup_pass_of(std::string_view kernel) {
  const auto pass = std::ranges::find_if(
      kPasses, [&](const LookupPass& one) { return kernel.find(one.kernel) != std::string_view::npos; });
  return pass == kPasses.end() ? nullptr : &*pass;
}

}  // namespace lockstep
