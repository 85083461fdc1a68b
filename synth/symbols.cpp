#include "synth/symbols.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "ops/call_hash.hpp"

namespace lockstep::synth {
namespace {

/// Finds the value that is seen most often.
class Mode {
 public:
  void add(double value) { ++counts_[value]; }
  [[nodiscard]] std::optional<double> most() const {
    const auto best = std::ranges::max_element(counts_, {}, [](const auto& entry) { return entry.second; });
    return best == counts_.end() ? std::nullopt : std::optional{best->first};
  }
  [[nodiscard]] std::optional<double> largest() const {
    return counts_.empty() ? std::nullopt : std::optional{counts_.rbegin()->first};
  }

 private:
  std::map<double, std::uint64_t> counts_;
};

/// Collects the sizes that kernels tell, one kernel after the other.
struct Tellers {
  double hidden = 0;
  Mode tokens, queries, head_size, batch, score_rows, score_columns, vocabulary, bags, images;
  std::vector<Gemm> products;

  void operator()(const LayerNorm& w) {
    if (w.part != LayerNorm::Part::Forward) return;
    // Norms of heads have fewer columns than those of the hidden state.
    const auto columns = static_cast<double>(w.columns);
    if (columns > hidden) tokens = Mode{};
    hidden = std::max(hidden, columns);
    if (columns == hidden) tokens.add(static_cast<double>(w.rows));
  }
  void operator()(const FlashAttention& w) {
    queries.add(static_cast<double>(w.queries));
    head_size.add(static_cast<double>(w.head_size));
    batch.add(static_cast<double>(w.batch));
  }
  void operator()(const Softmax& w) {
    if (w.direction != Direction::Forward) return;
    if (w.logarithm) {
      vocabulary.add(static_cast<double>(w.columns));
    } else {
      score_rows.add(static_cast<double>(w.rows));
      score_columns.add(static_cast<double>(w.columns));
    }
  }
  void operator()(const Gemm& w) { products.push_back(w); }
  void operator()(const EmbeddingBags& w) { bags.add(static_cast<double>(w.batch)); }
  void operator()(const Convolution& w) { images.add(static_cast<double>(w.batch)); }
  template <class Other>
  void operator()(const Other& /*tells nothing*/) {}
};

/// The side that most products of linear layers have in common, besides the one that counts tokens. Each
/// linear layer of a transformer reads or writes the hidden state.
std::optional<double> hidden_of(const std::vector<Gemm>& products, double tokens) {
  std::size_t layers = 0;
  std::map<double, std::size_t> having;
  for (const Gemm& product : products) {
    const std::array sides_of{static_cast<double>(product.m), static_cast<double>(product.n),
                              static_cast<double>(product.k)};
    if (product.batch != 1 || std::ranges::count(sides_of, tokens) != 1) continue;
    ++layers;
    for (const double side : std::set<double>(sides_of.begin(), sides_of.end())) {
      if (side != tokens) ++having[side];
    }
  }
  constexpr std::size_t kLeast = 3;
  const auto most = std::ranges::max_element(having, {}, [](const auto& side) { return side.second; });
  if (layers < kLeast || most == having.end() || most->second < layers) return std::nullopt;
  const auto others = std::ranges::count(having, most->second, [](const auto& side) { return side.second; });
  return others == 1 ? std::optional{most->first} : std::nullopt;
}

bool divides(double part, double whole) {
  return part > 0 && std::fmod(whole, part) == 0;
}

void set_if(Symbols& symbols, const char* name, const std::optional<double>& value) {
  if (value && *value > 1) symbols[name] = *value;
}

std::uint64_t size_of_items(const std::vector<Item>& items) {
  std::uint64_t size = 0;
  for (const Item& item : items) size += item.body.empty() ? 1 : item.count * size_of_items(item.body);
  return size;
}

bool launches(const std::vector<Item>& items) {
  return std::ranges::any_of(items, [](const Item& item) {
    return item.body.empty() ? item.token.op == Opcode::Launch : launches(item.body);
  });
}

void count_repeats(const std::vector<Item>& items, std::uint64_t times,
                   std::map<std::uint32_t, std::uint64_t>& covered) {
  for (const Item& item : items) {
    if (item.body.empty()) continue;
    const std::uint64_t size = size_of_items(item.body);
    if (item.count >= 3 && launches(item.body)) covered[item.count] += times * item.count * size;
    count_repeats(item.body, times * item.count, covered);
  }
}

/// Launches by kernel: those with a shape, of one class and shape, are one.
using LaunchCounts = std::map<std::size_t, std::uint64_t>;

void count_launches(const Template& tmpl, const std::vector<Item>& items, std::uint64_t times,
                    LaunchCounts& counts) {
  for (const Item& item : items) {
    count_launches(tmpl, item.body, times * item.count, counts);
    if (!item.body.empty() || item.token.op != Opcode::Launch || item.token.per_rank) continue;
    const KernelCall& call = tmpl.kernels[item.token.operand].call;
    if (!std::holds_alternative<Timed>(call.work)) counts[hash_of(call)] += times;
  }
}

constexpr std::uint64_t kMostBeside = 2;  ///< layers beside their block

}  // namespace

std::vector<std::string> symbols_of(const Model& model) {
  std::vector<std::string> names;
  for (const JobModel& job : model.jobs) {
    for (const auto& [name, value] : job.symbols) names.push_back(name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Symbols symbols_told_by(const Template& tmpl) {
  Tellers told;
  for (const KernelEntry& kernel : tmpl.kernels) std::visit(told, kernel.call.work);
  Symbols symbols;
  std::optional<double> hidden = told.hidden > 0 ? std::optional{told.hidden} : std::nullopt;
  const std::optional<double> tokens = told.tokens.most();
  std::optional<double> sequence = told.queries.most();
  std::optional<double> batch = told.batch.most();
  std::optional<double> head_size = told.head_size.most();
  if (!sequence && tokens && told.score_columns.most() && divides(*told.score_columns.most(), *tokens)) {
    sequence = told.score_columns.most();
  }
  if (tokens && sequence && divides(*sequence, *tokens)) batch = *tokens / *sequence;
  if (!head_size && hidden && tokens && told.score_rows.most() && divides(*tokens, *told.score_rows.most())) {
    const double heads = *told.score_rows.most() / *tokens;
    if (divides(heads, *hidden)) head_size = *hidden / heads;
  }
  if (!hidden && batch && sequence) hidden = hidden_of(told.products, *batch * *sequence);
  if (!batch) batch = told.bags.most() ? told.bags.most() : told.images.most();
  set_if(symbols, "hidden", hidden);
  set_if(symbols, "sequence", sequence);
  set_if(symbols, "batch", batch);
  set_if(symbols, "head_size", head_size);
  set_if(symbols, "vocabulary", told.vocabulary.largest());
  return symbols;
}

std::uint32_t layers_of(const Template& tmpl) {
  std::map<std::uint32_t, std::uint64_t> covered;
  count_repeats(tmpl.body, 1, covered);
  const auto best = std::ranges::max_element(covered, {}, [](const auto& entry) { return entry.second; });
  if (best == covered.end()) return 0;
  LaunchCounts all;
  count_launches(tmpl, tmpl.body, 1, all);
  std::map<std::uint64_t, std::uint32_t> votes;
  for (const Item& item : tmpl.body) {
    if (item.count != best->first || item.body.empty()) continue;
    LaunchCounts within;
    count_launches(tmpl, item.body, 1, within);
    for (const auto& [kernel, count] : within) {
      const std::uint64_t times = all[kernel] / count;
      if (all[kernel] % count == 0 && times >= item.count && times <= item.count + kMostBeside)
        ++votes[times];
    }
  }
  const auto most = std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; });
  return most == votes.end() ? best->first : static_cast<std::uint32_t>(most->first);
}

std::uint32_t count_with(const Item& block, const Symbols& symbols, const Symbols& fitted) {
  constexpr std::int64_t kOff = kMostBeside;
  constexpr std::uint64_t kLeastBlock = 6;
  const auto before = fitted.find("layers");
  if (before == fitted.end() || !launches(block.body) || size_of_items(block.body) < kLeastBlock)
    return block.count;
  const auto old_layers = static_cast<std::int64_t>(before->second);
  const auto new_layers = static_cast<std::int64_t>(symbols.at("layers"));
  const auto count = static_cast<std::int64_t>(block.count);
  if (old_layers < 3 || old_layers == new_layers) return block.count;
  if (count % old_layers == 0) return static_cast<std::uint32_t>(count / old_layers * new_layers);
  if (std::abs(count - old_layers) > kOff) return block.count;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(1, count + new_layers - old_layers));
}

bool grows_with_layers(const Item& block, const Symbols& fitted) {
  const auto layers = fitted.find("layers");
  if (layers == fitted.end()) return false;
  Symbols more = fitted;
  more["layers"] = 2 * layers->second;
  return count_with(block, more, fitted) != block.count;
}

std::optional<GradientElements> gradient_elements(const KernelEntry& kernel, const Symbols& symbols) {
  const auto is_free = [&](std::size_t side) {
    const auto& powers = kernel.sizes[side].powers;
    return !powers.contains("batch") && !powers.contains("sequence");
  };
  const auto size = [&](std::size_t side) { return kernel.sizes[side].value(symbols, 1); };
  if (std::holds_alternative<Gemm>(kernel.call.work)) {
    constexpr std::size_t kM = 1, kN = 2, kK = 3;
    if (!is_free(kM) || !is_free(kN) || is_free(kK)) return std::nullopt;
    return GradientElements{size(kM) * size(kN), true};
  }
  constexpr std::size_t kRows = 0, kColumns = 1;
  const auto* reduction = std::get_if<Reduction>(&kernel.call.work);
  const auto* norm = std::get_if<LayerNorm>(&kernel.call.work);
  const bool is_bias = reduction != nullptr && reduction->across_rows;
  const bool is_norm = norm != nullptr && norm->part == LayerNorm::Part::ParameterGradient;
  if ((!is_bias && !is_norm) || is_free(kRows) || !is_free(kColumns)) return std::nullopt;
  return GradientElements{(is_norm && !norm->rms ? 2 : 1) * size(kColumns), false};
}

Parameters parameters_of(const Template& tmpl, const Symbols& symbols, const Symbols& fitted) {
  Parameters found;
  using Sum = std::function<void(const std::vector<Item>&, double, bool)>;
  const Sum sum = [&](const std::vector<Item>& items, double times, bool in_layers) {
    for (const Item& item : items) {
      if (!item.body.empty()) {
        sum(item.body, times * (in_layers ? item.count : count_with(item, symbols, fitted)),
            in_layers || grows_with_layers(item, fitted));
        continue;
      }
      if (item.token.op != Opcode::Launch || item.token.per_rank) continue;
      const auto gradient = gradient_elements(tmpl.kernels[item.token.operand], symbols);
      if (!gradient) continue;
      found.all += times * gradient->elements;
      found.of_layers += in_layers ? times * gradient->elements : 0;
    }
  };
  sum(tmpl.body, 1, false);
  return found;
}

}  // namespace lockstep::synth
