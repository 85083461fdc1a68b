#include "synth/templates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

#include "ops/call_hash.hpp"
#include "sim/compiled_program.hpp"
#include "synth/buckets.hpp"
#include "synth/class_names.hpp"
#include "synth/grammar.hpp"

namespace lockstep::synth {
namespace {

/// Mean and standard deviation of numbers.
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double off = value - mean_;
    mean_ += off / static_cast<double>(count_);
    squares_ += off * (value - mean_);
  }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double deviation() const {
    return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  std::uint32_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

constexpr double kShortest = 1e-9;  ///< seconds; logarithms of shorter times say nothing

class TemplateWriter {
 public:
  TemplateWriter(const Recording& recording, std::size_t number, const FitOptions& options)
      : recording_{recording},
        number_{number},
        program_{*recording.job.programs[number]},
        is_exact_{options.exact} {}

  Template write() && {
    take_tables();
    constexpr std::array kReduced{CollectiveKind::AllReduce, CollectiveKind::ReduceScatter};
    Structure structure = structure_without(std::span{kReduced}.first(1));
    const bool has_scatters = std::ranges::any_of(program_.collectives, [](const CollectiveCall& call) {
      return call.kind == CollectiveKind::ReduceScatter;
    });
    if (has_scatters) {  // buckets, or one a layer: whatever is shorter
      Structure other = structure_without(kReduced);
      if (other.length < structure.length) structure = std::move(other);
    }
    std::vector<Bucket>& buckets = structure.split.buckets;
    tokens_ = std::move(structure.split.tokens);
    made_.body = items(structure.phrases, {0});
    place_buckets(made_.body, buckets);
    for (Bucket& bucket : buckets) {
      for (Token& token : bucket.tokens) {
        if (token.op == Opcode::RangeBegin) token.operand = name_[token.operand];
      }
    }
    made_.buckets = std::move(buckets);
    return std::move(made_);
  }

 private:
  /// Repeated rows, and the buckets that stand outside of them.
  struct Structure {
    SplitTokens split;
    std::vector<Phrase> phrases;
    std::size_t length = 0;  ///< tokens written down
  };

  Structure structure_without(std::span<const CollectiveKind> kinds) {
    Structure made;
    made.split = split_buckets(tokens_of(program_), program_, kinds);
    made.phrases = repeated_phrases(words(made.split.tokens));
    made.length = written_length(made.phrases);
    for (const Bucket& bucket : made.split.buckets) made.length += bucket.tokens.size();
    return made;
  }

  /// Names become classes; kernels and collectives become entries, as many as there are.
  void take_tables() {
    const RoleNames roles = role_names(program_);
    Program& tables = made_.program;
    for (const std::string& name : roles.threads) tables.threads.push_back({name, {}});
    tables.streams = roles.streams;
    tables.groups = roles.groups;
    tables.carried_events = program_.carried_events;
    for (const std::string& name : program_.names) {
      const std::string range = class_of_range(name);
      const auto known = std::ranges::find(tables.names, range);
      name_.push_back(static_cast<std::uint32_t>(known - tables.names.begin()));
      if (known == tables.names.end()) tables.names.push_back(range);
    }
    for (std::size_t kernel = 0; kernel < program_.kernels.size(); ++kernel) {
      made_.kernels.push_back(entry_of(kernel));
    }
    for (const CollectiveCall& call : program_.collectives) made_.calls.push_back({call, {}, 1});
  }

  [[nodiscard]] bool has_shape(std::size_t kernel) const {
    return !std::holds_alternative<Timed>(program_.kernels[kernel].work);
  }

  [[nodiscard]] double seconds_of(std::size_t kernel) const {
    if (recording_.seconds.empty()) {
      const auto* timed = std::get_if<Timed>(&program_.kernels[kernel].work);
      return timed != nullptr ? timed->duration.in_base_units() : 0;
    }
    return recording_.seconds[number_][kernel];
  }

  [[nodiscard]] KernelEntry entry_of(std::size_t kernel) const {
    KernelEntry entry{program_.kernels[kernel], {}, 0, 0, 1};
    entry.call.name = class_of(entry.call);
    if (has_shape(kernel) && !recording_.seconds.empty() && !recording_.gpu.name.empty()) {
      const double model = time_kernel(program_.kernels[kernel], recording_.gpu).seconds;
      const double recorded = seconds_of(kernel);
      if (model > kShortest && recorded > kShortest) entry.residual = std::log(recorded / model);
    }
    return entry;
  }

  /// Kernels of one name and shape are one, however long they took.
  [[nodiscard]] std::uint64_t word_of_kernel(std::uint32_t kernel) const {
    const KernelCall& call = program_.kernels[kernel];
    if (is_exact_) return kernel;
    return has_shape(kernel) ? hash_of(call) : std::hash<std::string>{}(call.name);
  }

  [[nodiscard]] std::uint64_t word_of_operand(const Token& token) const {
    if (token.per_rank) return token.operand;
    switch (token.op) {
      case Opcode::HostWork:
      case Opcode::RangeBegin:
        return name_[token.operand];
      case Opcode::Launch:
        return word_of_kernel(token.operand);
      case Opcode::Collective: {
        const CollectiveCall& call = program_.collectives[token.operand];
        constexpr std::uint64_t kGroups = 1U << 16U;
        return is_exact_ ? token.operand
                         : static_cast<std::uint64_t>(call.kind) * kGroups + call.group +
                               (static_cast<std::uint64_t>(call.peer) << 32U);
      }
      default:
        return token.operand;
    }
  }

  [[nodiscard]] std::vector<Symbol> words(const std::vector<Token>& tokens) const {
    std::vector<Symbol> symbols;
    symbols.reserve(tokens.size());
    for (const Token& token : tokens) {
      std::uint64_t word = word_of_operand(token);
      const auto mix = [&word](std::uint64_t value) {
        word = (word ^ (value + 0x9e3779b97f4a7c15ULL + (word << 6U) + (word >> 2U))) * 0xbf58476d1ce4e5b9ULL;
      };
      mix(static_cast<std::uint64_t>(token.op) | std::uint64_t{token.thread} << 8U |
          std::uint64_t{token.stream} << 16U | std::uint64_t{token.source} << 24U |
          static_cast<std::uint64_t>(token.reference) << 32U | std::uint64_t{token.per_rank} << 40U);
      if (is_exact_) {
        mix(std::bit_cast<std::uint32_t>(token.lead));
        mix(std::bit_cast<std::uint32_t>(token.cost));
      }
      const int opens = token.op == Opcode::RangeBegin ? 1 : token.op == Opcode::RangeEnd ? -1 : 0;
      symbols.push_back({word, static_cast<std::int8_t>(opens), token.thread});
    }
    return symbols;
  }

  /// @param offsets where else the phrases stand, from where they were found
  std::vector<Item> items(const std::vector<Phrase>& phrases, const std::vector<std::size_t>& offsets) {
    std::vector<Item> made;
    for (const Phrase& phrase : phrases) {
      if (phrase.body.empty()) {
        made.push_back(merged(phrase.first, offsets));
        continue;
      }
      const std::size_t length = length_of(phrase.body);
      std::vector<std::size_t> each;
      for (const std::size_t offset : offsets) {
        for (std::uint32_t time = 0; time < phrase.count; ++time) each.push_back(offset + time * length);
      }
      Item block;
      block.count = phrase.count;
      block.body = items(phrase.body, each);
      made.push_back(std::move(block));
    }
    return made;
  }

  Item merged(std::size_t place, const std::vector<std::size_t>& offsets) {
    Item item;
    item.token = tokens_[place];
    Moments lead;
    Moments cost;
    Moments host;
    for (const std::size_t offset : offsets) {
      const Token& token = tokens_[place + offset];
      lead.add(static_cast<double>(token.lead));
      cost.add(static_cast<double>(token.cost));
      host.add(static_cast<double>(token.lead) + static_cast<double>(token.cost));
    }
    if (offsets.size() > 1) {
      if (lead.deviation() > 0) item.token.lead = static_cast<float>(lead.mean());
      if (cost.deviation() > 0) item.token.cost = static_cast<float>(cost.mean());
      if (host.mean() > 0) item.spread = static_cast<float>(host.deviation() / host.mean());
    }
    if (item.token.op == Opcode::HostWork || item.token.op == Opcode::RangeBegin) {
      item.token.operand = name_[item.token.operand];
    } else if (item.token.op == Opcode::Launch && !item.token.per_rank) {
      item.token.operand = merged_kernel(place, offsets);
    } else if (item.token.op == Opcode::Collective && !item.token.per_rank) {
      item.token.operand = merged_call(place, offsets);
    }
    return item;
  }

  /// The entry of a kernel that stands at several places.
  std::uint32_t merged_kernel(std::size_t place, const std::vector<std::size_t>& offsets) {
    Moments seconds;
    Moments logs;
    bool all_same = true;
    const std::uint32_t first = tokens_[place].operand;
    for (const std::size_t offset : offsets) {
      const std::uint32_t kernel = tokens_[place + offset].operand;
      all_same = all_same && kernel == first;
      seconds.add(seconds_of(kernel));
      logs.add(std::log(std::max(seconds_of(kernel), kShortest)));
    }
    if (all_same) {
      made_.kernels[first].support += static_cast<std::uint32_t>(offsets.size()) - 1;
      return first;
    }
    KernelEntry entry = made_.kernels[first];
    entry.support = seconds.count();
    entry.spread = logs.deviation();
    if (!has_shape(first)) entry.call.work = Timed{Seconds{seconds.mean()}};
    made_.kernels.push_back(std::move(entry));
    return static_cast<std::uint32_t>(made_.kernels.size() - 1);
  }

  /// Sizes of a collective that differ where it is repeated (buckets) become their mean: all of it is sent.
  std::uint32_t merged_call(std::size_t place, const std::vector<std::size_t>& offsets) {
    Moments size;
    Moments recorded;
    bool all_same = true;
    const std::uint32_t first = tokens_[place].operand;
    for (const std::size_t offset : offsets) {
      const CollectiveCall& call = program_.collectives[tokens_[place + offset].operand];
      all_same = all_same && tokens_[place + offset].operand == first;
      size.add(call.size.in_base_units());
      if (call.recorded) recorded.add(call.recorded->in_base_units());
    }
    if (all_same) {
      made_.calls[first].support += static_cast<std::uint32_t>(offsets.size()) - 1;
      return first;
    }
    CallEntry entry = made_.calls[first];
    entry.support = size.count();
    const double element = size_of(entry.call.type).in_base_units();
    const double sent = std::round(size.mean() / element) * element;
    const double grown = entry.call.size.in_base_units() > 0 ? sent / entry.call.size.in_base_units() : 1;
    entry.call.size = Bytes{sent};
    for (double& bytes : entry.call.send_bytes) bytes *= grown;
    if (recorded.count() > 0) entry.call.recorded = Seconds{recorded.mean()};
    made_.calls.push_back(std::move(entry));
    return static_cast<std::uint32_t>(made_.calls.size() - 1);
  }

  const Recording& recording_;
  std::size_t number_;
  const Program& program_;
  bool is_exact_;
  std::vector<std::uint32_t> name_;  // by the Program's name: the class
  std::vector<Token> tokens_;
  Template made_;
};

}  // namespace

Template template_of(const Recording& recording, std::size_t program, const FitOptions& options) {
  return TemplateWriter{recording, program, options}.write();
}

}  // namespace lockstep::synth
