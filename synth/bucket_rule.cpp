#include "synth/bucket_rule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "synth/buckets.hpp"
#include "synth/symbols.hpp"

namespace lockstep::synth {
namespace {

constexpr double kClose = 0.02;

bool has_vocabulary(const KernelEntry& kernel) {
  return std::ranges::any_of(kernel.sizes,
                             [](const Monomial& size) { return size.powers.contains("vocabulary"); });
}

/// A weight's gradient of the recorded step.
struct Gradient {
  std::size_t token = 0;  ///< its place among all
  double elements = 0;
  bool is_matrix = false;
  bool is_of_vocabulary = false;  ///< a matrix with such a side
};

std::vector<Gradient> gradients_of(const Template& tmpl, const Symbols& fitted) {
  std::vector<Gradient> found;
  std::size_t token = 0;
  using Walk = std::function<void(const std::vector<Item>&)>;
  const Walk walk = [&](const std::vector<Item>& items) {
    for (const Item& item : items) {
      for (std::uint32_t time = 0; time < item.count && !item.body.empty(); ++time) walk(item.body);
      if (!item.body.empty()) continue;
      if (item.token.op == Opcode::Launch && !item.token.per_rank) {
        const KernelEntry& kernel = tmpl.kernels[item.token.operand];
        if (const auto gradient = gradient_elements(kernel, fitted)) {
          const bool is_matrix = gradient->is_matrix;
          found.push_back({token, gradient->elements, is_matrix, is_matrix && has_vocabulary(kernel)});
        }
      }
      ++token;
    }
  };
  walk(tmpl.body);
  return found;
}

/// A bucket, and the gradients since the one before.
struct FilledBucket {
  double elements = 0;
  double element_bytes = 0;
  double gradients = 0;  ///< their elements
  double last = 0;       ///< elements of the last matrix and of what is behind it
  double behind = 0;     ///< elements of vectors behind it
  std::size_t matrices = 0, delay = 0;
};

/// Limits that a matrix reaches: more than `above`, at most `most` elements.
struct Limits {
  double above = 0, most = std::numeric_limits<double>::infinity();

  void narrow(const FilledBucket& bucket, double beside) {
    above = std::max(above, bucket.elements - beside * bucket.last);
    most = std::min(most, bucket.elements - beside * bucket.behind);
  }
  [[nodiscard]] bool contains(double elements) const { return elements > above && elements <= most; }
  [[nodiscard]] bool is_empty() const { return above >= most; }
};

class RuleReader {
 public:
  RuleReader(const Template& tmpl, const Symbols& fitted)
      : tmpl_{tmpl}, gradients_{gradients_of(tmpl, fitted)} {}

  [[nodiscard]] std::optional<BucketRule> read(bool is_tied) {
    constexpr std::size_t kLeast = 3;
    if (tmpl_.buckets.size() < kLeast) return std::nullopt;
    fill(is_tied);
    BucketRule rule;
    rule.is_tied = is_tied;
    rule.beside = beside();
    Limits others;
    for (std::size_t i = 0; i + 1 < filled_.size(); ++i) {
      const FilledBucket& bucket = filled_[i];
      const double told = rule.beside * bucket.gradients;
      if (bucket.gradients == 0 || std::abs(told - bucket.elements) > kClose * bucket.elements)
        return std::nullopt;
      if (i > 0) others.narrow(bucket, rule.beside);
    }
    Limits first;
    first.narrow(filled_.front(), rule.beside);
    if (others.is_empty() || first.is_empty() || !tells_limit(others)) return std::nullopt;
    rule.others = limit(others, kOthers);
    rule.first = first.contains(kFirst / filled_.front().element_bytes)
                     ? kFirst / filled_.front().element_bytes
                 : first.contains(rule.others) ? rule.others
                                               : first.most;
    const FilledBucket& last = filled_.back();
    const double rest = last.elements - rule.beside * last.gradients - tied_;
    if (rest < -kClose * last.elements) return std::nullopt;
    rule.tail = std::max(0.0, rest);
    rule.delay = delay();
    return rule;
  }

 private:
  static constexpr double kMebibyte = 1024 * 1024;
  static constexpr double kFirst = kMebibyte, kOthers = 25 * kMebibyte;  // bytes

  [[nodiscard]] double limit(const Limits& limits, double bytes) const {
    const double usual = bytes / filled_.front().element_bytes;
    return limits.contains(usual) ? usual : limits.most;
  }

  /// Buckets of as many matrices each may be those of a layer, whatever they hold.
  [[nodiscard]] bool tells_limit(const Limits& limits) const {
    const auto inside = std::span{filled_}.subspan(1, filled_.size() - 2);
    return limits.contains(kOthers / filled_.front().element_bytes) ||
           std::ranges::any_of(inside, [&](const FilledBucket& bucket) {
             return bucket.matrices != inside.front().matrices;
           });
  }

  void fill(bool is_tied) {
    filled_.clear();
    tied_ = 0;
    std::vector<std::size_t> first{0};
    for (const Item& item : tmpl_.body) first.push_back(first.back() + tokens_of(item));
    auto next = gradients_.begin();
    for (const Bucket& bucket : tmpl_.buckets) {
      const auto inside = bucket.place * static_cast<double>(tokens_of(tmpl_.body[bucket.item]));
      const std::size_t place = first[bucket.item] + static_cast<std::size_t>(std::llround(inside));
      const CallEntry& call = tmpl_.calls[call_of(bucket)];
      FilledBucket made;
      made.element_bytes = size_of(call.call.type).in_base_units();
      made.elements = call.call.size.in_base_units() / made.element_bytes;
      for (; next != gradients_.end() && next->token < place; ++next) {
        if (is_tied && next->is_of_vocabulary) {
          tied_ += next->elements;
          continue;
        }
        made.gradients += next->elements;
        made.behind = next->is_matrix ? 0 : made.behind + next->elements;
        made.last = next->is_matrix ? next->elements : made.last + next->elements;
        if (!next->is_matrix) continue;
        ++made.matrices;
        made.delay = place - next->token - 1;
      }
      filled_.push_back(made);
    }
  }

  static std::uint32_t call_of(const Bucket& bucket) {
    return std::ranges::find(bucket.tokens, Opcode::Collective, &Token::op)->operand;
  }

  /// The last bucket does not count: it has what no kernel tells, too.
  [[nodiscard]] double beside() const {
    double elements = 0;
    double gradients = 0;
    for (std::size_t i = 0; i + 1 < filled_.size(); ++i) {
      elements += filled_[i].elements;
      gradients += filled_[i].gradients;
    }
    return gradients > 0 ? elements / gradients : 1;
  }

  [[nodiscard]] std::size_t delay() const {
    std::vector<std::size_t> delays;
    for (std::size_t i = 0; i + 1 < filled_.size(); ++i) delays.push_back(filled_[i].delay);
    const auto middle = delays.begin() + static_cast<std::ptrdiff_t>(delays.size() / 2);
    std::ranges::nth_element(delays, middle);
    return *middle;
  }

  const Template& tmpl_;
  std::vector<Gradient> gradients_;
  std::vector<FilledBucket> filled_;
  double tied_ = 0;
};

}  // namespace

std::optional<BucketRule> bucket_rule(const Template& tmpl, const Symbols& fitted) {
  RuleReader reader{tmpl, fitted};
  const std::optional<BucketRule> plain = reader.read(false);
  return plain ? plain : reader.read(true);
}

bool BucketFiller::add(const KernelEntry& kernel) {
  const auto gradient = gradient_elements(kernel, symbols_);
  if (!gradient) return false;
  if (rule_.is_tied && gradient->is_matrix && has_vocabulary(kernel)) {
    tied_ += gradient->elements;
    return false;
  }
  open_ += gradient->elements;
  constexpr double kRounding = 1e-9;
  const double limit = (is_first_ ? rule_.first : rule_.others) * (1 - kRounding);
  return gradient->is_matrix && rule_.beside * open_ >= limit;
}

double BucketFiller::take() {
  is_first_ = false;
  return rule_.beside * std::exchange(open_, 0);
}

double BucketFiller::rest(double growth) const {
  return rule_.beside * open_ + tied_ + rule_.tail * growth;
}

}  // namespace lockstep::synth
