#include "generate/storages.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "ops/caching_allocator.hpp"
#include "traces/pytorch_et/kineto_link.hpp"

namespace lockstep::generate {
namespace {

using pytorch_et::ExecutionTrace;
using pytorch_et::TensorArgument;

constexpr std::int64_t kAlignment = 512;  // of PyTorch's allocator

/// A tensor as one kernel uses it.
struct Use {
  std::uint32_t moment = 0, work = 0;
  const TensorArgument* tensor = nullptr;
  bool writes = false, reads = false;
};

std::int64_t begin_of(const TensorArgument& tensor) {
  return tensor.offset * tensor.element_bytes;
}

std::int64_t end_of(const TensorArgument& tensor) {
  return begin_of(tensor) + tensor.elements * tensor.element_bytes;
}

bool is_on_gpu(const ExecutionTrace& trace, const TensorArgument& tensor) {
  const std::string& device = trace.names.text(tensor.device);
  return tensor.storage > 0 && tensor.elements > 0 && (device.empty() || device.starts_with("cuda"));
}

/// Collects the tensors of each kernel's operator, in the order of the launches.
class Uses {
 public:
  Uses(const replay::RankRecording& rank, const ExecutionTrace& trace) : rank_{rank}, trace_{trace} {
    ImportReport unused;
    node_of_ = link_to_kineto(trace, rank.trace, unused).node_of;
  }

  /// Returns the uses by storage, in the order of the launches.
  std::map<std::int64_t, std::vector<Use>> collect() {
    std::vector<std::uint32_t> order(rank_.trace.work.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t work) { return rank_.links.issued[work]; });
    std::map<std::int64_t, std::vector<Use>> uses;
    for (std::uint32_t moment = 0; moment < order.size(); ++moment) {
      if (const pytorch_et::Node* const node = node_around(order[moment])) {
        add(*node, moment, order[moment], uses);
      }
    }
    return uses;
  }

 private:
  /// The innermost operator around a launch that the execution trace has tensors of.
  [[nodiscard]] const pytorch_et::Node* node_around(std::uint32_t work) const {
    const std::uint32_t call = rank_.links.call_of_work[work];
    std::uint32_t op = call == replay::kNone ? replay::kNone : rank_.links.operator_of_call[call];
    for (; op != replay::kNone; op = rank_.links.parent[op]) {
      if (op < node_of_.size() && node_of_[op] >= 0) {
        const pytorch_et::Node& node = trace_.nodes[static_cast<std::size_t>(node_of_[op])];
        if (has_tensors(node)) {
          return &node;
        }
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool has_tensors(const pytorch_et::Node& node) const {
    const auto has = [&](const pytorch_et::Argument& argument) {
      return std::ranges::any_of(trace_.tensors_of(argument),
                                 [&](const TensorArgument& tensor) { return is_on_gpu(trace_, tensor); });
    };
    return std::ranges::any_of(trace_.inputs(node), has);
  }

  void add(const pytorch_et::Node& node, std::uint32_t moment, std::uint32_t work,
           std::map<std::int64_t, std::vector<Use>>& uses) const {
    const auto each = [&](std::span<const pytorch_et::Argument> arguments, bool writes) {
      for (const pytorch_et::Argument& argument : arguments) {
        for (const TensorArgument& tensor : trace_.tensors_of(argument)) {
          if (is_on_gpu(trace_, tensor)) {
            note({moment, work, &tensor, writes, !writes}, uses[tensor.storage]);
          }
        }
      }
    };
    each(trace_.inputs(node), false);
    each(trace_.outputs(node), true);
  }

  /// A tensor that is both argument and result is changed in place.
  static void note(const Use& use, std::vector<Use>& of_storage) {
    for (auto known = of_storage.rbegin(); known != of_storage.rend() && known->work == use.work; ++known) {
      if (known->tensor->offset == use.tensor->offset && known->tensor->elements == use.tensor->elements) {
        known->writes = known->writes || use.writes;
        known->reads = known->reads || use.reads;
        return;
      }
    }
    of_storage.push_back(use);
  }

  const replay::RankRecording& rank_;
  const ExecutionTrace& trace_;
  std::vector<std::int64_t> node_of_;
};

/// The uses of one storage from one writing to the next.
struct Life {
  StorageLife life;
  std::vector<Use> uses;
};

/// Ids of storages are used again: a storage that is written whole, and not read by the same kernel, is new.
std::vector<Life> lives_of(const std::vector<Use>& uses, std::uint32_t moments) {
  std::int64_t bytes = 0;
  for (const Use& use : uses) {
    bytes = std::max(bytes, end_of(*use.tensor));
  }
  std::vector<Life> lives;
  for (const Use& use : uses) {
    const bool is_whole =
        use.writes && !use.reads && begin_of(*use.tensor) == 0 && end_of(*use.tensor) == bytes;
    const bool is_same_kernel = !lives.empty() && lives.back().uses.back().moment == use.moment;
    if (lives.empty() || (is_whole && !is_same_kernel)) {
      lives.push_back({{is_whole ? use.moment : 0, use.moment, bytes}, {}});
      if (!is_whole) {
        lives.back().life.last =
            moments;  // what it has at the beginning it has at the beginning of each step
      }
    }
    lives.back().uses.push_back(use);
    lives.back().life.last = std::max(lives.back().life.last, use.moment);
  }
  return lives;
}

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::vector<std::int64_t> places_of(const std::vector<StorageLife>& lives) {
  std::vector<std::size_t> order(lives.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return lives[i].bytes; });
  std::vector<std::int64_t> places(lives.size(), 0);
  std::vector<std::size_t> placed;  // by place
  for (const std::size_t i : order) {
    std::int64_t place = 0;
    for (const std::size_t other : placed) {
      const bool meet = lives[other].first <= lives[i].last && lives[i].first <= lives[other].last;
      if (meet && places[other] < place + padded(lives[i].bytes)) {
        place = std::max(place, places[other] + padded(lives[other].bytes));
      }
    }
    places[i] = place;
    placed.insert(std::ranges::upper_bound(placed, place, {}, [&](std::size_t at) { return places[at]; }), i);
  }
  return places;
}

std::int64_t allocator_peak(const std::vector<StorageLife>& lives) {
  std::multimap<std::pair<std::uint32_t, bool>, std::size_t>
      changes;  // moment; release after all that begins
  for (std::size_t i = 0; i < lives.size(); ++i) {
    changes.emplace(std::pair{lives[i].first, false}, i);
    changes.emplace(std::pair{lives[i].last, true}, i);
  }
  CachingAllocator allocator;
  std::vector<std::optional<CachingAllocator::Block>> blocks(lives.size());
  for (const auto& [change, life] : changes) {
    if (change.second) {
      allocator.release(*blocks[life]);
    } else {
      blocks[life] = allocator.allocate(Bytes{static_cast<double>(lives[life].bytes)});
    }
  }
  return static_cast<std::int64_t>(allocator.reserved().in_base_units());
}

PlannedOperands plan_operands(const replay::RankRecording& rank, const ExecutionTrace& trace,
                              const std::function<double(std::uint32_t)>& largest) {
  std::vector<Life> lives;
  const auto moments = static_cast<std::uint32_t>(rank.trace.work.size());
  const auto is_taken = [&](const Use& use, std::int64_t bytes) {
    return static_cast<double>(bytes) <= largest(use.work);
  };
  for (const auto& [storage, uses] : Uses{rank, trace}.collect()) {
    for (Life& life : lives_of(uses, moments)) {
      if (std::ranges::any_of(life.uses, [&](const Use& use) { return is_taken(use, life.life.bytes); })) {
        lives.push_back(std::move(life));
      }
    }
  }
  std::vector<StorageLife> spans;
  std::ranges::transform(lives, std::back_inserter(spans), &Life::life);
  const std::vector<std::int64_t> places = places_of(spans);
  PlannedOperands made;
  made.of_work.resize(rank.trace.work.size());
  made.plan.storages = static_cast<std::uint32_t>(lives.size());
  made.plan.allocator = allocator_peak(spans);
  std::map<MemoryPlan::View, std::uint32_t> numbers;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    made.plan.bytes = std::max(made.plan.bytes, places[i] + padded(spans[i].bytes));
    for (const Use& use : lives[i].uses) {
      if (!is_taken(use, spans[i].bytes)) {
        continue;
      }
      const MemoryPlan::View view{places[i] + begin_of(*use.tensor),
                                  end_of(*use.tensor) - begin_of(*use.tensor)};
      const auto [known, is_new] =
          numbers.try_emplace(view, static_cast<std::uint32_t>(made.plan.views.size()));
      if (is_new) {
        made.plan.views.push_back(view);
      }
      WorkOperands& operands = made.of_work[use.work];
      if (use.reads) {
        operands.reads.push_back(known->second);
      }
      if (use.writes) {
        operands.writes.push_back(known->second);
      }
    }
  }
  return made;
}

}  // namespace lockstep::generate
