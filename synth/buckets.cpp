#include "synth/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace lockstep::synth {
namespace {

/// Places [first, last) of the tokens.
struct Span {
  std::size_t first = 0, last = 0;
};

/// A collective of the tokens, by its place.
class BucketFinder {
 public:
  BucketFinder(const std::vector<Token>& tokens, const Program& program,
               std::span<const CollectiveKind> kinds)
      : tokens_{tokens}, program_{program}, kinds_{kinds} {}

  [[nodiscard]] std::vector<Span> spans() const {
    std::vector<Span> found;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is_bucket(i)) found.push_back(span_around(i));
    }
    // A single one piles up nothing that another would.
    return found.size() > 1 ? found : std::vector<Span>{};
  }

 private:
  [[nodiscard]] bool is_reduction(std::size_t place) const {
    const Token& token = tokens_[place];
    return token.op == Opcode::Collective && !token.per_rank &&
           std::ranges::find(kinds_, program_.collectives[token.operand].kind) != kinds_.end();
  }

  /// Nobody waits for its stream before the stream's next collective begins, or before the last one ends.
  [[nodiscard]] bool is_bucket(std::size_t place) const {
    if (!is_reduction(place)) return false;
    const std::uint8_t stream = tokens_[place].stream;
    bool waited = false;
    for (std::size_t i = place + 1; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.op == Opcode::Collective && token.stream == stream) return !waited;
      const bool is_wait = token.op == Opcode::StreamWait || token.op == Opcode::WaitEvent;
      waited = waited || (is_wait && token.source == stream && token.reference != Reference::Carried) ||
               (token.op == Opcode::WaitStream && token.stream == stream) || token.op == Opcode::WaitDevice;
    }
    return follows_a_bucket(place);
  }

  /// The last one is waited for: it is a bucket where the one before it on its stream is.
  [[nodiscard]] bool follows_a_bucket(std::size_t place) const {
    for (std::size_t i = place; i > 0; --i) {
      const Token& token = tokens_[i - 1];
      if (token.op == Opcode::Collective && token.stream == tokens_[place].stream) return is_bucket(i - 1);
    }
    return false;
  }

  [[nodiscard]] Span span_around(std::size_t place) const {
    const Token& call = tokens_[place];
    const auto is_beside = [&](const Token& token, Opcode range) {
      const bool is_event =
          token.op == Opcode::RecordEvent || (token.op == Opcode::StreamWait && token.stream == call.stream);
      return token.thread == call.thread && (is_event || token.op == range);
    };
    Span span{place, place + 1};
    while (span.first > 0 && is_beside(tokens_[span.first - 1], Opcode::RangeBegin)) --span.first;
    while (span.last < tokens_.size() && is_beside(tokens_[span.last], Opcode::RangeEnd)) ++span.last;
    balance(span, place);
    return span;
  }

  /// Trims @p span until it closes as many ranges as it opens.
  void balance(Span& span, std::size_t place) const {
    const auto count = [&](std::size_t first, std::size_t last, Opcode op) {
      return std::count_if(tokens_.begin() + static_cast<std::ptrdiff_t>(first),
                           tokens_.begin() + static_cast<std::ptrdiff_t>(last),
                           [op](const Token& token) { return token.op == op; });
    };
    while (count(span.first, place, Opcode::RangeBegin) > count(place, span.last, Opcode::RangeEnd))
      ++span.first;
    while (count(place, span.last, Opcode::RangeEnd) > count(span.first, place, Opcode::RangeBegin))
      --span.last;
  }

  const std::vector<Token>& tokens_;
  const Program& program_;
  std::span<const CollectiveKind> kinds_;
};

const Monomial& elements_of(const Template& tmpl, const Bucket& bucket) {
  const auto call = std::ranges::find(bucket.tokens, Opcode::Collective, &Token::op);
  return tmpl.calls[call->operand].elements;
}

}  // namespace

SplitTokens split_buckets(const std::vector<Token>& tokens, const Program& program,
                          std::span<const CollectiveKind> kinds) {
  SplitTokens split;
  std::size_t next = 0;
  for (const Span& span : BucketFinder{tokens, program, kinds}.spans()) {
    if (span.first < next) continue;  // two that share their surroundings: the second stays
    split.tokens.insert(split.tokens.end(), tokens.begin() + static_cast<std::ptrdiff_t>(next),
                        tokens.begin() + static_cast<std::ptrdiff_t>(span.first));
    split.buckets.push_back({static_cast<std::uint32_t>(split.tokens.size()),
                             0,
                             {tokens.begin() + static_cast<std::ptrdiff_t>(span.first),
                              tokens.begin() + static_cast<std::ptrdiff_t>(span.last)}});
    next = span.last;
  }
  split.tokens.insert(split.tokens.end(), tokens.begin() + static_cast<std::ptrdiff_t>(next), tokens.end());
  return split;
}

std::uint64_t tokens_of(const Item& item) {
  if (item.body.empty()) return 1;
  std::uint64_t tokens = 0;
  for (const Item& within : item.body) tokens += tokens_of(within);
  return item.count * tokens;
}

void place_buckets(const std::vector<Item>& body, std::vector<Bucket>& buckets) {
  std::uint64_t first = 0;
  std::uint32_t item = 0;
  for (Bucket& bucket : buckets) {
    const std::uint64_t before = bucket.item;
    while (item + 1 < body.size() && first + tokens_of(body[item]) < before) first += tokens_of(body[item++]);
    bucket.item = item;
    bucket.place =
        body.empty() ? 0 : static_cast<double>(before - first) / static_cast<double>(tokens_of(body[item]));
  }
}

Parameters reduced_elements(const Template& tmpl, const Symbols& fitted) {
  Parameters found;
  const auto add = [&](const Monomial& elements, double times, bool in_layers) {
    const double sent = elements.with_parameters ? times * elements.factor : 0;
    found.all += sent;
    found.of_layers += in_layers ? sent : 0;
  };
  using Sum = std::function<void(const std::vector<Item>&, double, bool)>;
  const Sum sum = [&](const std::vector<Item>& items, double times, bool in_layers) {
    for (const Item& item : items) {
      if (!item.body.empty()) {
        sum(item.body, times * item.count, in_layers || grows_with_layers(item, fitted));
      } else if (item.token.op == Opcode::Collective && !item.token.per_rank) {
        add(tmpl.calls[item.token.operand].elements, times, in_layers);
      }
    }
  };
  sum(tmpl.body, 1, false);
  for (const Bucket& bucket : tmpl.buckets) {
    const Item& item = tmpl.body[bucket.item];
    add(elements_of(tmpl, bucket), 1, !item.body.empty() && grows_with_layers(item, fitted));
  }
  return found;
}

std::vector<DrawnBucket> drawn_buckets(const Template& tmpl, std::uint32_t item, double growth) {
  std::vector<DrawnBucket> recorded;
  double total = 0;
  for (const Bucket& bucket : tmpl.buckets) {
    if (bucket.item != item) continue;
    recorded.push_back({&bucket, bucket.place, elements_of(tmpl, bucket).factor});
    total += recorded.back().elements;
  }
  const bool is_block = !recorded.empty() && !tmpl.body[item].body.empty();
  const auto count = static_cast<double>(recorded.size());
  const double wanted = is_block ? std::max(1.0, std::round(count * growth)) : count;
  if (wanted == count) {
    for (DrawnBucket& bucket : recorded) bucket.elements *= growth;
    return recorded;
  }
  std::vector<DrawnBucket> drawn;
  for (double i = 0; i < wanted; ++i) {
    // Fractional index among the recorded buckets with the same share of buckets before it.
    const double among = (i + 0.5) * count / wanted - 0.5;
    const auto below = static_cast<std::size_t>(std::clamp(std::floor(among), 0.0, count - 1));
    const std::size_t above = std::min(below + 1, recorded.size() - 1);
    const double share = std::clamp(among - static_cast<double>(below), 0.0, 1.0);
    drawn.push_back({recorded[below].like,
                     recorded[below].place + share * (recorded[above].place - recorded[below].place),
                     total * growth / wanted});
  }
  return drawn;
}

}  // namespace lockstep::synth
