#include "synth/score.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "synth/class_names.hpp"
#include "synth/recorded_nodes.hpp"
#include "synth/tokens.hpp"

namespace lockstep::synth {
namespace {

/// Values with weights, as a distribution.
class Weighted {
 public:
  void add(double value, double weight) {
    values_[value] += weight;
    total_ += weight;
  }
  [[nodiscard]] double total() const { return total_; }
  [[nodiscard]] const std::map<double, double>& values() const { return values_; }

 private:
  std::map<double, double> values_;
  double total_ = 0;
};

/// Walks the two distribution functions; @p each gets a value, the next one, and the difference between.
template <class Each>
void walk(const Weighted& a, const Weighted& b, const Each& each) {
  std::map<double, std::pair<double, double>> all;
  for (const auto& [value, weight] : a.values()) all[value].first += weight / a.total();
  for (const auto& [value, weight] : b.values()) all[value].second += weight / b.total();
  double difference = 0;
  for (auto entry = all.begin(); entry != all.end(); ++entry) {
    difference += entry->second.first - entry->second.second;
    const auto next = std::next(entry);
    each(entry->first, next == all.end() ? entry->first : next->first, std::abs(difference));
  }
}

/// Kolmogorov-Smirnov distance; of nothing against something 1, of nothing against nothing 0.
double ks(const Weighted& a, const Weighted& b) {
  if (a.total() == 0 || b.total() == 0) return a.total() == b.total() ? 0 : 1;
  double most = 0;
  walk(a, b, [&](double, double, double difference) { most = std::max(most, difference); });
  return most;
}

double earth_movers(const Weighted& a, const Weighted& b) {
  if (a.total() == 0 || b.total() == 0) return 0;
  double moved = 0;
  walk(a, b, [&](double here, double next, double difference) { moved += difference * (next - here); });
  return moved;
}

struct ClassFacts {
  Weighted durations, weighted;
  double launches = 0, seconds = 0;
};

/// Counts of a job, for a mean rank.
struct Facts {
  std::map<std::string, ClassFacts> classes;
  Weighted messages, octaves, gaps;
  double launches = 0, seconds = 0, bytes = 0;
  std::vector<std::size_t> sequence;  // of rank 0: classes of launches, kinds of collectives
};

constexpr double kLeastTime = 1e-9;

class Counter {
 public:
  explicit Counter(const Recording& recording) : recording_{recording} {}

  Facts count() && {
    std::map<std::uint32_t, double> uses;  // by program: ranks
    for (const RankAssignment& rank : recording_.job.ranks) uses[rank.program] += 1;
    std::map<std::uint32_t, const RankAssignment*> example;
    for (const RankAssignment& rank : recording_.job.ranks) example.try_emplace(rank.program, &rank);
    for (const auto& [program, ranks] : uses) {
      add(program, *example[program], ranks / static_cast<double>(recording_.job.ranks.size()));
    }
    return std::move(facts_);
  }

 private:
  void add(std::uint32_t number, const RankAssignment& rank, double weight) {
    const Program& program = *recording_.job.programs[number];
    const bool is_first = recording_.job.ranks.front().program == number;
    const std::vector<double> seconds = kernel_seconds(recording_, number);
    std::vector<std::string> classes;
    for (const KernelCall& call : program.kernels) classes.push_back(class_of(call));
    for (const Token& token : tokens_of(program)) {
      const double gap = static_cast<double>(token.lead) + static_cast<double>(token.cost);
      if (gap > 0 && token.op != Opcode::StartLag)
        facts_.gaps.add(std::log(std::max(gap, kLeastTime)), weight);
      if (token.op == Opcode::Launch) {
        const std::uint32_t kernel = token.per_rank ? rank.kernel_slots[token.operand] : token.operand;
        add_launch(classes[kernel], seconds[kernel], weight);
        if (is_first) facts_.sequence.push_back(std::hash<std::string>{}(classes[kernel]));
      } else if (token.op == Opcode::Collective) {
        const CollectiveCall& call =
            program.collectives[token.per_rank ? rank.collective_slots[token.operand] : token.operand];
        const double bytes = call.size.in_base_units();
        facts_.messages.add(std::log(std::max(bytes, 1.0)), weight);
        facts_.octaves.add(std::log2(std::max(bytes, 1.0)), weight);
        facts_.bytes += weight * bytes;
        if (is_first) facts_.sequence.push_back(std::hash<std::string>{}(to_string(call.kind)));
      }
    }
  }

  void add_launch(const std::string& name, double seconds, double weight) {
    ClassFacts& facts = facts_.classes[name];
    const double value = std::log(std::max(seconds, kLeastTime));
    facts.durations.add(value, weight);
    if (seconds > 0) facts.weighted.add(value, weight * seconds);
    facts.launches += weight;
    facts.seconds += weight * seconds;
    facts_.launches += weight;
    facts_.seconds += weight * seconds;
  }

  const Recording& recording_;
  Facts facts_;
};

/// Edits over the longer length. Sequences beyond kLongest are compared by every n-th entry.
double edit_distance(std::vector<std::size_t> a, std::vector<std::size_t> b) {
  constexpr std::size_t kLongest = 4000;
  const std::size_t longest = std::max(a.size(), b.size());
  if (longest == 0) return 0;
  const std::size_t step = (longest + kLongest - 1) / kLongest;
  const auto thin = [step](std::vector<std::size_t>& list) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < list.size(); i += step) kept.push_back(list[i]);
    list = std::move(kept);
  };
  thin(a);
  thin(b);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, corner + 1, row[j] + 1});
    }
  }
  return static_cast<double>(row.back()) / static_cast<double>(std::max(a.size(), b.size()));
}

double quotient(double a, double b) {
  return b > 0 ? a / b : a > 0 ? 2 : 1;
}

}  // namespace

Score compare(const Recording& sampled, const Recording& source) {
  const Facts a = Counter{sampled}.count();
  const Facts b = Counter{source}.count();
  Score score;
  std::map<std::string, std::pair<const ClassFacts*, const ClassFacts*>> both;
  for (const auto& [name, facts] : a.classes) both[name].first = &facts;
  for (const auto& [name, facts] : b.classes) both[name].second = &facts;
  static const ClassFacts kNothing;
  for (const auto& [name, facts] : both) {
    const ClassFacts& of_a = facts.first != nullptr ? *facts.first : kNothing;
    const ClassFacts& of_b = facts.second != nullptr ? *facts.second : kNothing;
    score.classes.push_back({name, static_cast<std::uint64_t>(std::llround(of_a.launches)),
                             static_cast<std::uint64_t>(std::llround(of_b.launches)),
                             a.seconds > 0 ? of_a.seconds / a.seconds : 0,
                             b.seconds > 0 ? of_b.seconds / b.seconds : 0, ks(of_a.durations, of_b.durations),
                             ks(of_a.weighted, of_b.weighted)});
    score.class_mix += std::abs((a.launches > 0 ? of_a.launches / a.launches : 0) -
                                (b.launches > 0 ? of_b.launches / b.launches : 0)) /
                       2;
  }
  std::ranges::stable_sort(score.classes, [](const ClassScore& x, const ClassScore& y) {
    return x.source_share + x.sampled_share > y.source_share + y.sampled_share;
  });
  score.message_ks = ks(a.messages, b.messages);
  score.host_gap_ks = ks(a.gaps, b.gaps);
  score.work_ratio = quotient(a.seconds, b.seconds);
  score.message_ratio = quotient(a.bytes, b.bytes);
  score.sequence_distance = edit_distance(a.sequence, b.sequence);
  score.size_distance = earth_movers(a.octaves, b.octaves);
  return score;
}

Nearest nearest(const Recording& sampled, const std::vector<Recording>& sources) {
  Nearest found;
  double least = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Score score = compare(sampled, sources[i]);
    const double away = score.sequence_distance + score.size_distance;
    if (i == 0 || away < least) {
      found = {i, score.sequence_distance, score.size_distance};
      least = away;
    }
  }
  return found;
}

}  // namespace lockstep::synth
