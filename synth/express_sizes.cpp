#include "synth/express_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ops/kernel_fields.hpp"
#include "synth/launch_rows.hpp"
#include "synth/products.hpp"

namespace lockstep::synth {
namespace {

/// Sizes from here on that no product explains grow with the parameters: flat gradients, buckets.
constexpr double kFlat = 65'536;
/// A product of parameters of one tensor has no larger factor.
constexpr double kMostOfTensor = 8;

/// A size depends on these.
enum class SizeKind : std::uint8_t {
  Any,       ///< all symbols
  Flat,      ///< all symbols; what no product explains grows with the parameters
  OfWeight,  ///< neither batch nor sequence
  OfUpdate,  ///< neither of them; what no product explains grows with the parameters
};

/// Gradients of biases and of norms: a sum over tokens for each column.
bool sums_over_rows(const KernelWork& work) {
  const auto* reduction = std::get_if<Reduction>(&work);
  return (reduction != nullptr && reduction->across_rows) || std::holds_alternative<LayerNorm>(work);
}

/// Fits one size, known for each of several like jobs, as a product of symbols.
class SizeFitter {
 public:
  explicit SizeFitter(std::vector<Symbols> symbols) : symbols_{std::move(symbols)}, of_weights_{symbols_} {
    for (Symbols& known : of_weights_) {
      known.erase("batch");
      known.erase("sequence");
    }
  }

  std::vector<Monomial> fit(const std::vector<double>& values, SizeKind kind) {
    const auto known = known_.find({values, kind});
    if (known != known_.end()) return known->second;
    const std::vector<Symbols>& symbols =
        kind == SizeKind::OfWeight || kind == SizeKind::OfUpdate ? of_weights_ : symbols_;
    const Monomial common = simplest_product(values, symbols);
    const bool fits_all = fits(common, values);
    std::vector<Monomial> made;
    for (std::size_t job = 0; job < values.size(); ++job) {
      // Each job has its own product if none gives the sizes of all jobs.
      made.push_back(
          fits_all ? common
                   : simplest_product(std::span{values}.subspan(job, 1), std::span{symbols}.subspan(job, 1)));
      const bool grows = kind == SizeKind::Flat || kind == SizeKind::OfUpdate;
      if (grows && is_flat(made.back(), values[job])) made.back() = {values[job], {}, true};
    }
    known_.emplace(std::pair{values, kind}, made);
    return made;
  }

  /// The size that counts tokens in every job: of a linear layer's product, or of a sum over tokens for each
  /// column. Its other sizes are a weight's, which no batch changes. @param sizes by job
  [[nodiscard]] std::optional<std::size_t> token_side(const KernelWork& work,
                                                      const std::vector<std::vector<double>>& sizes) const {
    for (const std::size_t side : sides_that_may_count(work, sizes)) {
      bool counts_tokens = true;
      for (std::size_t job = 0; job < sizes.size(); ++job) {
        const std::optional<double> tokens = tokens_of(symbols_[job]);
        counts_tokens = counts_tokens && tokens && sizes[job][side] == *tokens;
      }
      if (counts_tokens) return side;
    }
    return std::nullopt;
  }

  /// Tokens of a batch as a product of symbols.
  [[nodiscard]] std::vector<Monomial> tokens() const {
    Monomial product{1, {}, false};
    for (const char* name : {"batch", "sequence"}) {
      if (symbols_.front().contains(name)) product.powers[name] = 1;
    }
    return std::vector<Monomial>(symbols_.size(), product);
  }

 private:
  static std::vector<std::size_t> sides_that_may_count(const KernelWork& work,
                                                       const std::vector<std::vector<double>>& sizes) {
    if (sums_over_rows(work)) return {0};
    const auto is_single = [](const std::vector<double>& of_job) { return of_job.front() == 1; };
    const bool is_linear = std::holds_alternative<Gemm>(work) && std::ranges::all_of(sizes, is_single);
    // batch, m, n, k: m where several are as long
    return is_linear ? std::vector<std::size_t>{1, 3, 2} : std::vector<std::size_t>{};
  }

  /// Batch times sequence; images where there is no sequence. A batch of 1 is no symbol.
  static std::optional<double> tokens_of(const Symbols& symbols) {
    const auto batch = symbols.find("batch");
    const auto sequence = symbols.find("sequence");
    if (batch == symbols.end() && sequence == symbols.end()) return std::nullopt;
    return (batch == symbols.end() ? 1 : batch->second) * (sequence == symbols.end() ? 1 : sequence->second);
  }

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
  std::vector<Symbols> of_weights_;  // without batch and sequence
  std::map<std::pair<std::vector<double>, SizeKind>, std::vector<Monomial>> known_;
};

/// Kernels over flat memory may hold many tensors. Sides of matrices and tables are no such sizes.
SizeKind kind_of_sizes(const KernelCall& call) {
  if (std::holds_alternative<OptimizerUpdate>(call.work)) return SizeKind::OfUpdate;
  const bool is_flat =
      std::holds_alternative<Pointwise>(call.work) || std::holds_alternative<Memset>(call.work) ||
      std::holds_alternative<Memcpy>(call.work) || std::holds_alternative<Concat>(call.work) ||
      std::holds_alternative<Reduction>(call.work);
  return is_flat ? SizeKind::Flat : SizeKind::Any;
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
  const std::optional<std::size_t> tokens = fitter.token_side(entries.front()->call.work, sizes);
  const SizeKind kind = tokens ? SizeKind::OfWeight : kind_of_sizes(entries.front()->call);
  for (std::size_t size = 0; size < sizes.front().size(); ++size) {
    std::vector<double> values;
    for (const auto& of_job : sizes) values.push_back(of_job[size]);
    const std::vector<Monomial> found = size == tokens ? fitter.tokens() : fitter.fit(values, kind);
    for (std::size_t job = 0; job < entries.size(); ++job) entries[job]->sizes.push_back(found[job]);
  }
}

void express_call(std::span<CallEntry*> entries, SizeFitter& fitter) {
  std::vector<double> values;
  for (const CallEntry* entry : entries) {
    values.push_back(entry->call.size.in_base_units() / size_of(entry->call.type).in_base_units());
  }
  const std::vector<Monomial> found = fitter.fit(values, SizeKind::Flat);
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

}  // namespace

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
  for (JobModel& job : jobs) {
    for (Template& tmpl : job.templates) let_rows_grow(tmpl);
  }
}

}  // namespace lockstep::synth
