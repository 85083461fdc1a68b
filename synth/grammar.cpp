#include "synth/grammar.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace lockstep::synth {
namespace {

constexpr std::size_t kGroup = 4;       // places that are looked for together
constexpr std::size_t kPeriods = 24;    // that are tried
constexpr std::size_t kLeastSaved = 8;  // places, for a row to be worth a rule
constexpr std::size_t kDeepest = 6;     // blocks within blocks
constexpr std::size_t kThreads = 256;

struct Row {
  std::size_t first = 0, period = 0, count = 0;
  [[nodiscard]] std::size_t saved() const { return count == 0 ? 0 : (count - 1) * period; }
};

class Finder {
 public:
  explicit Finder(std::span<const Symbol> sequence) : all_{sequence} {}

  std::vector<Phrase> phrases(std::size_t first, std::size_t last, std::size_t depth) {
    std::vector<Phrase> made;
    append(first, last, depth, made);
    return made;
  }

 private:
  void append(std::size_t first, std::size_t last, std::size_t depth, std::vector<Phrase>& made) {
    while (depth < kDeepest) {
      const Row row = best_row(first, last);
      if (row.saved() < kLeastSaved) break;
      append(first, row.first, depth, made);
      made.push_back({row.first, static_cast<std::uint32_t>(row.count),
                      phrases(row.first, row.first + row.period, depth + 1)});
      first = row.first + row.count * row.period;
    }
    for (std::size_t i = first; i < last; ++i) {
      made.push_back({i, 1, {}});
    }
  }

  /// Distances between equal groups of places, the most frequent ones.
  [[nodiscard]] std::vector<std::size_t> periods(std::size_t first, std::size_t last) const {
    std::unordered_map<std::uint64_t, std::size_t> seen;
    std::unordered_map<std::size_t, std::size_t> votes;
    for (std::size_t i = first; i + kGroup <= last; ++i) {
      std::uint64_t hash = 0;
      for (std::size_t k = 0; k < kGroup; ++k) {
        hash = hash * 0x9e3779b97f4a7c15ULL + all_[i + k].word;
      }
      const auto [entry, fresh] = seen.try_emplace(hash, i);
      if (!fresh) {
        ++votes[i - entry->second];
        entry->second = i;
      }
    }
    std::vector<std::pair<std::size_t, std::size_t>> ranked;  // places that the period might save
    for (const auto& [period, count] : votes) ranked.emplace_back(count, period);
    std::ranges::sort(ranked, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < std::min(ranked.size(), kPeriods); ++i) found.push_back(ranked[i].second);
    // Long periods have few votes by their nature: the longest are tried too.
    std::ranges::sort(ranked, {}, [](const auto& entry) { return entry.second; });
    for (std::size_t i = 0; i < std::min(ranked.size(), kPeriods / 3); ++i) {
      found.push_back(ranked[ranked.size() - 1 - i].second);
    }
    return found;
  }

  [[nodiscard]] Row best_row(std::size_t first, std::size_t last) const {
    Row best;
    for (const std::size_t period : periods(first, last)) {
      for (std::size_t i = first; i + period < last;) {
        std::size_t end = i;
        while (end + period < last && all_[end].word == all_[end + period].word) ++end;
        const std::size_t run = end - i;
        if (run >= period) consider(i, run + period, period, best);
        i = end + 1;
      }
    }
    return best;
  }

  /// @param length of the places that repeat with @p period
  void consider(std::size_t first, std::size_t length, std::size_t period, Row& best) const {
    for (std::size_t count = length / period; count >= 2; --count) {
      if ((count - 1) * period <= best.saved()) return;
      const std::size_t slack = std::min(length - count * period, period - 1);
      for (std::size_t shift = 0; shift <= slack; ++shift) {
        if (is_balanced(first + shift, period)) {
          best = {first + shift, period, count};
          return;
        }
      }
    }
  }

  [[nodiscard]] bool is_balanced(std::size_t first, std::size_t length) const {
    std::array<int, kThreads> depth{};
    for (std::size_t i = first; i < first + length; ++i) {
      int& open = depth[all_[i].thread];
      open += all_[i].opens;
      if (open < 0) return false;
    }
    return std::ranges::all_of(depth, [](int open) { return open == 0; });
  }

  std::span<const Symbol> all_;
};

}  // namespace

std::vector<Phrase> repeated_phrases(std::span<const Symbol> sequence) {
  return Finder{sequence}.phrases(0, sequence.size(), 0);
}

std::size_t length_of(const std::vector<Phrase>& phrases) {
  std::size_t length = 0;
  for (const Phrase& phrase : phrases) {
    length += phrase.body.empty() ? 1 : phrase.count * length_of(phrase.body);
  }
  return length;
}

std::size_t written_length(const std::vector<Phrase>& phrases) {
  std::size_t length = 0;
  for (const Phrase& phrase : phrases) {
    length += phrase.body.empty() ? 1 : written_length(phrase.body);
  }
  return length;
}

}  // namespace lockstep::synth
