#include "synth/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "ops/kernel_fields.hpp"

namespace lockstep::synth {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;
/// Sizes from here on that no product explains grow with the parameters: flat gradients, buckets.
constexpr double kFlat = 65'536;
/// A product of parameters of one tensor has no larger factor.
constexpr double kMostOfTensor = 8;

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
  void operator()(const EmbeddingBags& w) { bags.add(static_cast<double>(w.batch)); }
  void operator()(const Convolution& w) { images.add(static_cast<double>(w.batch)); }
  template <class Other>
  void operator()(const Other& /*tells nothing*/) {}
};

bool divides(double part, double whole) {
  return part > 0 && std::fmod(whole, part) == 0;
}

void set_if(Symbols& symbols, const char* name, const std::optional<double>& value) {
  if (value && *value > 1) symbols[name] = *value;
}

double power(double base, int exponent) {
  double value = 1;
  for (int i = 0; i < std::abs(exponent); ++i) value *= base;
  return exponent < 0 ? 1 / value : value;
}

/// Description length of the factor of a product; none: it is no small fraction.
double cost_of_factor(double factor) {
  constexpr double kMost = 512;
  if (factor == 1) return 0;
  for (const double q : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    const double p = std::round(factor * q);
    if (p >= 1 && p <= kMost && std::abs(p - factor * q) < kTolerance * p) {
      const bool is_doubled = std::has_single_bit(static_cast<unsigned>(p));
      return (is_doubled ? 1 + std::log2(p) / 2 : 1.5 + std::log2(p)) + 2 * std::log2(q);
    }
  }
  return kNone;
}

/// Description length of a number without symbols.
double cost_of_number(double number) {
  return 1.5 + std::log2(std::max(number, 1.0));
}

/// Powers that a symbol can have in a size.
std::span<const int> powers_of(const std::string& name) {
  static constexpr std::array kTwice{0, 1, 2};
  static constexpr std::array kOnce{0, 1};
  static constexpr std::array kBelow{0, 1, -1};
  if (name == "hidden" || name == "sequence") return kTwice;
  if (name == "head_size" || name == "tensor") return kBelow;
  return kOnce;
}

/// Layers and ranks repeat what is done: they are in no shape.
bool is_of_shapes(const std::string& name) {
  return name != "layers" && name != "ranks";
}

std::vector<std::string> shape_symbols(std::span<const Symbols> jobs) {
  std::vector<std::string> names;
  for (const auto& symbol : jobs.front()) {
    const std::string& name = symbol.first;
    const bool everywhere = std::ranges::all_of(jobs, [&](const Symbols& job) { return job.contains(name); });
    if (everywhere && is_of_shapes(name)) names.push_back(name);
  }
  return names;
}

class ProductSearch {
 public:
  ProductSearch(std::span<const double> values, std::span<const Symbols> jobs)
      : values_{values}, jobs_{jobs}, names_{shape_symbols(jobs)} {}

  Monomial best() && {
    best_.factor = values_.front();
    descend(0, 0, std::vector<double>(values_.begin(), values_.end()));
    return best_;
  }
  [[nodiscard]] double cost() const { return cost_; }

 private:
  void descend(std::size_t symbol, double cost, const std::vector<double>& rest) {
    if (cost >= cost_) return;
    if (symbol == names_.size()) {
      const bool same = std::ranges::all_of(rest, [&](double factor) {
        return std::abs(factor - rest.front()) <= kTolerance * std::abs(rest.front());
      });
      const double factor = powers_.empty() ? cost_of_number(rest.front()) : cost_of_factor(rest.front());
      const bool is_odd = factor > 0 && powers_.contains("sequence") && !powers_.contains("batch");
      const double total = same && means_something() ? cost + factor + (is_odd ? 1 : 0) : kNone;
      if (total < cost_) {
        cost_ = total;
        best_ = {rest.front(), powers_, false};
      }
      return;
    }
    for (const int exponent : powers_of(names_[symbol])) {
      std::vector<double> left = rest;
      for (std::size_t job = 0; job < left.size(); ++job) {
        left[job] /= power(jobs_[job].at(names_[symbol]), exponent);
      }
      if (exponent != 0) powers_[names_[symbol]] = exponent;
      descend(symbol + 1, cost + std::abs(exponent), left);
      powers_.erase(names_[symbol]);
    }
  }

  /// Heads are hidden over head_size; the size of one stands alone.
  [[nodiscard]] bool means_something() const {
    const auto head_size = powers_.find("head_size");
    if (head_size == powers_.end()) return true;
    return powers_.contains("hidden") == (head_size->second < 0);
  }

  std::span<const double> values_;
  std::span<const Symbols> jobs_;
  std::vector<std::string> names_;
  std::map<std::string, int> powers_;
  Monomial best_;
  double cost_ = kNone;
};

/// Fits one size, known for each of several like jobs, as a product of symbols.
class SizeFitter {
 public:
  explicit SizeFitter(std::vector<Symbols> symbols) : symbols_{std::move(symbols)} {}

  /// @param grows whether a size that no product explains is one of all parameters
  std::vector<Monomial> fit(const std::vector<double>& values, bool grows) {
    const auto known = known_.find({values, grows});
    if (known != known_.end()) return known->second;
    const Monomial common = simplest_product(values, symbols_);
    const bool fits_all = fits(common, values);
    std::vector<Monomial> made;
    for (std::size_t job = 0; job < values.size(); ++job) {
      // Each job has its own product if none gives the sizes of all jobs.
      made.push_back(fits_all ? common
                              : simplest_product(std::span{values}.subspan(job, 1),
                                                 std::span{symbols_}.subspan(job, 1)));
      if (grows && is_flat(made.back(), values[job])) made.back() = {values[job], {}, true};
    }
    known_.emplace(std::pair{values, grows}, made);
    return made;
  }

 private:
  [[nodiscard]] bool fits(const Monomial& product, const std::vector<double>& values) const {
    constexpr double kClose = 1e-6;
    for (std::size_t job = 0; job < values.size(); ++job) {
      if (std::abs(product.value(symbols_[job], 1) - values[job]) > kClose * values[job]) return false;
    }
    return true;
  }

  /// Tells whether a size is that of many tensors together.
  static bool is_flat(const Monomial& product, double value) {
    return value >= kFlat && product.factor > kMostOfTensor && !product.powers.contains("batch") &&
           !product.powers.contains("sequence");
  }

  std::vector<Symbols> symbols_;
  std::map<std::pair<std::vector<double>, bool>, std::vector<Monomial>> known_;
};

/// Kernels over flat memory, which may hold many tensors. Sides of matrices and tables are no such sizes.
bool may_grow(const KernelCall& call) {
  return std::holds_alternative<OptimizerUpdate>(call.work) || std::holds_alternative<Pointwise>(call.work) ||
         std::holds_alternative<Memset>(call.work) || std::holds_alternative<Memcpy>(call.work) ||
         std::holds_alternative<Concat>(call.work) || std::holds_alternative<Reduction>(call.work);
}

std::vector<double> sizes_of(const KernelCall& call) {
  std::vector<double> sizes;
  for (const KernelField& field : fields_of(call.work)) {
    if (field.is_size) sizes.push_back(field.value);
  }
  return sizes;
}

/// The entries of one place of alike jobs.
void express_kernel(std::span<KernelEntry*> entries, SizeFitter& fitter) {
  std::vector<std::vector<double>> sizes;
  for (KernelEntry* entry : entries) {
    entry->sizes.clear();
    sizes.push_back(sizes_of(entry->call));
  }
  const bool grows = may_grow(entries.front()->call);
  for (std::size_t size = 0; size < sizes.front().size(); ++size) {
    std::vector<double> values;
    for (const auto& of_job : sizes) values.push_back(of_job[size]);
    const std::vector<Monomial> found = fitter.fit(values, grows);
    for (std::size_t job = 0; job < entries.size(); ++job) entries[job]->sizes.push_back(found[job]);
  }
}

void express_call(std::span<CallEntry*> entries, SizeFitter& fitter) {
  std::vector<double> values;
  for (const CallEntry* entry : entries) {
    values.push_back(entry->call.size.in_base_units() / size_of(entry->call.type).in_base_units());
  }
  const std::vector<Monomial> found = fitter.fit(values, true);
  for (std::size_t job = 0; job < entries.size(); ++job) entries[job]->elements = found[job];
}

/// A block, or what stands between two blocks, of one job: its entries, in their order.
struct Segment {
  std::size_t job = 0;
  std::vector<KernelEntry*> kernels;
  std::vector<CallEntry*> calls;
};

/// Template, what stands in the segment, and which of those that are alike it is.
using SegmentKey = std::tuple<std::size_t, std::vector<std::uint64_t>, std::size_t>;

/// Sorts the segments of all jobs by what stands in them, however often it is repeated and however large it
/// is.
class SegmentSorter {
 public:
  void add(std::size_t number, JobModel& job) {
    for (std::size_t tmpl = 0; tmpl < job.templates.size(); ++tmpl) {
      seen_.clear();
      begin(number, tmpl);
      for (const Item& item : job.templates[tmpl].body) {
        if (!item.body.empty()) finish();
        walk(item, job.templates[tmpl]);
        if (!item.body.empty()) finish();
      }
      finish();
    }
  }
  [[nodiscard]] std::map<SegmentKey, std::vector<Segment>> take() && { return std::move(segments_); }

 private:
  void begin(std::size_t job, std::size_t tmpl) {
    template_ = tmpl;
    current_ = {job, {}, {}};
  }

  void walk(const Item& item, Template& tmpl) {
    constexpr unsigned kKind = 8;
    constexpr unsigned kType = 16;
    constexpr unsigned kBlock = 32;
    std::uint64_t word = item.body.empty() ? static_cast<std::uint64_t>(item.token.op)
                                           : static_cast<std::uint64_t>(item.body.size()) << kBlock;
    if (is_entry(item, Opcode::Launch)) {
      KernelEntry& kernel = tmpl.kernels[item.token.operand];
      word |= kernel.call.work.index() << kKind | static_cast<std::uint64_t>(kernel.call.type) << kType;
      current_.kernels.push_back(&kernel);
    } else if (is_entry(item, Opcode::Collective)) {
      current_.calls.push_back(&tmpl.calls[item.token.operand]);
    }
    words_.push_back(word);
    for (const Item& within : item.body) walk(within, tmpl);
  }

  void finish() {
    if (words_.empty()) return;
    const std::size_t number = seen_[words_]++;
    const std::size_t job = current_.job;
    segments_[{template_, std::exchange(words_, {}), number}].push_back(std::move(current_));
    current_ = {job, {}, {}};
  }

  static bool is_entry(const Item& item, Opcode op) {
    return item.body.empty() && item.token.op == op && !item.token.per_rank;
  }

  std::size_t template_ = 0;
  Segment current_;
  std::vector<std::uint64_t> words_;
  std::map<std::vector<std::uint64_t>, std::size_t> seen_;
  std::map<SegmentKey, std::vector<Segment>> segments_;
};

/// Fitters by the jobs that they compare.
class Fitters {
 public:
  explicit Fitters(std::span<const JobModel> jobs) : jobs_{jobs} {}

  SizeFitter& of(const std::vector<std::size_t>& compared) {
    auto& fitter = fitters_[compared];
    if (!fitter) {
      std::vector<Symbols> symbols;
      for (const std::size_t job : compared) symbols.push_back(jobs_[job].symbols);
      fitter.emplace(std::move(symbols));
    }
    return *fitter;
  }

 private:
  std::span<const JobModel> jobs_;
  std::map<std::vector<std::size_t>, std::optional<SizeFitter>> fitters_;
};

void express_segments(std::vector<Segment>& alike, Fitters& fitters) {
  std::vector<std::size_t> compared;
  for (const Segment& segment : alike) compared.push_back(segment.job);
  SizeFitter& fitter = fitters.of(compared);
  for (std::size_t place = 0; place < alike.front().kernels.size(); ++place) {
    std::vector<KernelEntry*> entries;
    for (const Segment& segment : alike) entries.push_back(segment.kernels[place]);
    express_kernel(entries, fitter);
  }
  for (std::size_t place = 0; place < alike.front().calls.size(); ++place) {
    std::vector<CallEntry*> entries;
    for (const Segment& segment : alike) entries.push_back(segment.calls[place]);
    express_call(entries, fitter);
  }
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

}  // namespace

double Monomial::value(const Symbols& symbols, double parameters) const {
  double product = factor;
  for (const auto& [name, exponent] : powers) product *= power(symbols.at(name), exponent);
  return with_parameters ? product * parameters : product;
}

std::string to_text(const Monomial& monomial) {
  std::string text =
      monomial.factor == 1 && !monomial.powers.empty() ? "" : fmt::format("{:.6g}", monomial.factor);
  for (const bool below : {false, true}) {
    for (const auto& [name, exponent] : monomial.powers) {
      if ((exponent < 0) != below) continue;
      text += below ? "/" : text.empty() ? "" : "*";
      text += name + (std::abs(exponent) > 1 ? fmt::format("^{}", std::abs(exponent)) : "");
    }
  }
  return monomial.with_parameters ? text + "*parameters" : text;
}

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
  const std::optional<double> hidden = told.hidden > 0 ? std::optional{told.hidden} : std::nullopt;
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
  if (!batch) batch = told.bags.most() ? told.bags.most() : told.images.most();
  set_if(symbols, "hidden", hidden);
  set_if(symbols, "sequence", sequence);
  set_if(symbols, "batch", batch);
  set_if(symbols, "head_size", head_size);
  set_if(symbols, "vocabulary", told.vocabulary.largest());
  return symbols;
}

std::uint32_t layers_of(const std::vector<Item>& body) {
  std::map<std::uint32_t, std::uint64_t> covered;
  count_repeats(body, 1, covered);
  const auto best = std::ranges::max_element(covered, {}, [](const auto& entry) { return entry.second; });
  return best == covered.end() ? 0 : best->first;
}

Monomial simplest_product(std::span<const double> values, std::span<const Symbols> symbols) {
  return ProductSearch{values, symbols}.best();
}

void express_sizes(std::span<JobModel> jobs) {
  Fitters fitters{jobs};
  SegmentSorter sorter;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    // Entries of slots, and of buckets, stand in no segment.
    SizeFitter& alone = fitters.of({number});
    for (Template& tmpl : jobs[number].templates) {
      for (KernelEntry& kernel : tmpl.kernels) {
        KernelEntry* entry = &kernel;
        express_kernel({&entry, 1}, alone);
      }
      for (CallEntry& call : tmpl.calls) {
        CallEntry* entry = &call;
        express_call({&entry, 1}, alone);
      }
    }
    sorter.add(number, jobs[number]);
  }
  auto segments = std::move(sorter).take();
  for (auto& [key, alike] : segments) {
    if (alike.size() > 1) express_segments(alike, fitters);
  }
}

std::uint32_t count_with(const Item& block, const Symbols& symbols, const Symbols& fitted) {
  constexpr std::int64_t kOff = 2;
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

Parameters parameters_of(const Template& tmpl, const Symbols& symbols, const Symbols& fitted) {
  const auto is_free = [](const Monomial& size) {
    return !size.powers.contains("batch") && !size.powers.contains("sequence");
  };
  Parameters found;
  using Sum = std::function<void(const std::vector<Item>&, double, bool)>;
  const Sum sum = [&](const std::vector<Item>& items, double times, bool in_layers) {
    for (const Item& item : items) {
      if (!item.body.empty()) {
        sum(item.body, times * count_with(item, symbols, fitted),
            in_layers || grows_with_layers(item, fitted));
        continue;
      }
      if (item.token.op != Opcode::Launch || item.token.per_rank) continue;
      const KernelEntry& kernel = tmpl.kernels[item.token.operand];
      const auto* product = std::get_if<Gemm>(&kernel.call.work);
      constexpr std::size_t kM = 1, kN = 2, kK = 3;
      if (product == nullptr || !is_free(kernel.sizes[kM]) || !is_free(kernel.sizes[kN]) ||
          is_free(kernel.sizes[kK])) {
        continue;
      }
      const double parameters =
          times * kernel.sizes[kM].value(symbols, 1) * kernel.sizes[kN].value(symbols, 1);
      found.all += parameters;
      found.of_layers += in_layers ? parameters : 0;
    }
  };
  sum(tmpl.body, 1, false);
  return found;
}

}  // namespace lockstep::synth
