#include "search/sharding/method.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/suggest.hpp"
#include "search/learned/methods.hpp"
#include "search/sharding/exact.hpp"
#include "search/sharding/greedy.hpp"
#include "search/sharding/local_search.hpp"
#include "search/sharding/neuroshard.hpp"
#include "search/sharding/torchrec_plan.hpp"

namespace lockstep::sharding {
namespace {

constexpr std::array kMethods{
    Method{"random", "each table to any device", random_plan},
    Method{"round_robin", "table i to device i modulo n", round_robin},
    Method{"chunks", "equally many tables in order", chunks},
    Method{"size_greedy", "the largest table first, to the emptiest device", size_greedy},
    Method{"dim_greedy", "likewise by dimension", dim_greedy},
    Method{"lookup_greedy", "likewise by dimension x pooling factor", lookup_greedy},
    Method{"norm_lookup_greedy", "likewise by dimension x pooling factor / rows", norm_lookup_greedy},
    Method{"size_lookup_greedy", "likewise by dimension x pooling factor x log10(rows)", size_lookup_greedy},
    Method{"torchrec_greedy", "likewise by the time that TorchRec's planner estimates", torchrec_greedy},
    Method{"torchrec", "TorchRec's planner, table- and column-wise", torchrec_plan},
    Method{"neuroshard_table_wise", "NeuroShard's placement of whole tables", neuroshard_table_wise},
    Method{"neuroshard", "NeuroShard: a beam search over column-wise cuts", neuroshard},
    Method{"exact", "every placement of whole tables: for few of them", exact_table_wise},
    Method{"lockstep", "the best of these, improved by moves, swaps, splits and merges", lockstep_search},
};

constexpr std::array kLearned{
    Method{"autoshard", "AutoShard: an LSTM policy, trained by actor-critic on the balance of lookups",
           learned::autoshard},
    Method{"dreamshard", "DreamShard: a policy trained on what a learnt cost network says",
           learned::dreamshard},
};

}  // namespace

std::span<const Method> methods() {
  return kMethods;
}

std::span<const Method> learned_methods() {
  return kLearned;
}

const Method& method_called(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& table : {methods(), learned_methods()}) {
    for (const Method& method : table) {
      if (method.name == name) {
        return method;
      }
      known.emplace_back(method.name);
    }
  }
  throw std::invalid_argument{
      fmt::format("there is no search method '{}'{}", name, did_you_mean(std::string{name}, known))};
}

}  // namespace lockstep::sharding
