#include "traces/pytorch_et/thread_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace lockstep::pytorch_et {
namespace {

constexpr double kLeastAlike = 0.1;   // cosine of the two threads' counts of names
constexpr double kLeastRepeat = 1.5;  // below, the profile has one step more at its edges, not two

using Counts = std::unordered_map<Symbol, double>;

class Symbols {
 public:
  Symbol of(std::string_view name) {
    return numbers_.try_emplace(name, static_cast<Symbol>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string_view, Symbol> numbers_;
};

Counts counts_of(const CallSequence& sequence) {
  Counts counts;
  for (const Symbol name : sequence.names) {
    ++counts[name];
  }
  return counts;
}

double product(const Counts& left, const Counts& right) {
  double sum = 0;
  for (const auto& [name, count] : left) {
    const auto other = right.find(name);
    sum += other == right.end() ? 0 : count * other->second;
  }
  return sum;
}

/// How often what both threads call is called in the profile, for each time in the execution trace.
double ratio(const Counts& operators, const Counts& nodes) {
  double called = 0;
  double written = 0;
  for (const auto& [name, count] : nodes) {
    const auto other = operators.find(name);
    called += other == operators.end() ? 0 : other->second;
    written += other == operators.end() ? 0 : count;
  }
  return written == 0 ? 1 : called / written;
}

struct Likeness {
  double alike = 0;
  std::size_t operators = 0, nodes = 0;
};

std::vector<Likeness> likenesses(const std::vector<CallSequence>& operators,
                                 const std::vector<CallSequence>& nodes) {
  std::vector<Counts> node_counts;
  for (const CallSequence& sequence : nodes) {
    node_counts.push_back(counts_of(sequence));
  }
  std::vector<Likeness> found;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const Counts counts = counts_of(operators[i]);
    const double own = product(counts, counts);
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      const double other = product(node_counts[j], node_counts[j]);
      const double alike = product(counts, node_counts[j]) / std::sqrt(own * other);
      if (alike >= kLeastAlike) {
        found.push_back({alike, i, j});
      }
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Likeness::alike);
  return found;
}

std::vector<CallSequence> operators_by_thread(const kineto::RecordedTrace& profile, Symbols& symbols) {
  std::map<std::uint32_t, CallSequence> threads;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const kineto::Operator& call = profile.operators[i];
    if (is_linkable(call, profile)) {
      CallSequence& thread = threads[call.thread];
      thread.calls.push_back(i);
      thread.names.push_back(symbols.of(profile.names.text(call.name)));
    }
  }
  std::vector<CallSequence> list;
  for (auto& [number, thread] : threads) {
    list.push_back(std::move(thread));
  }
  return list;
}

std::vector<CallSequence> nodes_by_thread(const ExecutionTrace& trace, Symbols& symbols) {
  std::map<std::int32_t, CallSequence> threads;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    const std::string& name = trace.names.text(node.name);
    if (!is_root(name)) {
      threads[node.thread].calls.push_back(i);
      threads[node.thread].names.push_back(symbols.of(name));
    }
  }
  std::vector<CallSequence> list;
  for (auto& [number, thread] : threads) {
    list.push_back(std::move(thread));
  }
  return list;
}

}  // namespace

bool is_linkable(const kineto::Operator& call, const kineto::RecordedTrace& profile) {
  return !profile.names.text(call.name).starts_with("ProfilerStep#");
}

std::vector<ThreadPair> thread_pairs(const ExecutionTrace& trace, const kineto::RecordedTrace& profile) {
  Symbols symbols;
  std::vector<CallSequence> operators = operators_by_thread(profile, symbols);
  std::vector<CallSequence> nodes = nodes_by_thread(trace, symbols);
  std::vector<ThreadPair> pairs;
  for (const Likeness& likeness : likenesses(operators, nodes)) {
    CallSequence& left = operators[likeness.operators];
    CallSequence& right = nodes[likeness.nodes];
    if (left.calls.empty() || right.calls.empty()) {  // taken by one more alike
      continue;
    }
    const double repeats = ratio(counts_of(left), counts_of(right));
    ThreadPair& pair = pairs.emplace_back();
    pair.repeats = repeats < kLeastRepeat ? 1 : static_cast<std::uint32_t>(std::ceil(repeats));
    pair.operators = std::exchange(left, {});
    pair.nodes = std::exchange(right, {});
  }
  return pairs;
}

}  // namespace lockstep::pytorch_et
