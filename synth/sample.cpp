#include "synth/sample.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/portable_math.hpp"
#include "base/random.hpp"
#include "ops/kernel_fields.hpp"
#include "sim/compiled_program.hpp"
#include "synth/buckets.hpp"
#include "synth/symbols.hpp"

namespace lockstep::synth {
namespace {

/// A normal variate that depends on the generator and the place alone.
double normal(const Random& random, std::uint64_t place) {
  constexpr double kInside = 1e-12;
  return normal_quantile(std::clamp(random.uniform(place), kInside, 1 - kInside));
}

/// e^(spread z - spread^2 / 2): of mean 1.
double factor_of(const Random& random, std::uint64_t place, double spread) {
  return spread > 0 ? portable_exp(spread * normal(random, place) - spread * spread / 2) : 1;
}

bool is_low_precision(DataType type) {
  return type == DataType::FP16 || type == DataType::BF16 || type == DataType::FP8;
}

/// Factors on sizes that grow with the parameters.
struct Growth {
  double kernels = 1, calls = 1;  ///< outside of the layers
  double layer = 1;               ///< within one
};

/// Writes one Program of a template.
class ProgramSampler {
 public:
  ProgramSampler(const Model& model, const JobModel& job, const Template& tmpl, const SampleOptions& options)
      : model_{model},
        job_{job},
        template_{tmpl},
        options_{options},
        random_{Random{options.seed, "synth.times"}} {}

  void use(const Symbols& symbols, const Growth& growth, const GpuSpec& gpu) {
    symbols_ = symbols;
    growth_ = growth;
    program_ = template_.program;
    program_.kernels.clear();
    program_.collectives.clear();
    // Each entry twice: as it is outside of the layers, and as it is within one.
    for (const double parameters : {growth.kernels, growth.layer}) {
      for (const KernelEntry& entry : template_.kernels) add_kernel(entry, parameters, gpu);
    }
    for (const double parameters : {growth.calls, growth.layer}) {
      for (const CallEntry& entry : template_.calls)
        program_.collectives.push_back(call_of(entry, parameters));
    }
  }

  /// @param variant of those ranks that do the same
  Program program(std::uint32_t variant, std::uint64_t& repairs) {
    random_ = Random{options_.seed, "synth.times"}.of(variant);
    place_ = 0;
    Program made = program_;
    // Kernels that were always timed the same stay as they are; others are timed as they are drawn.
    for (std::size_t kernel = 0; kernel < made.kernels.size(); ++kernel) {
      const KernelEntry& entry = template_.kernels[kernel % template_.kernels.size()];
      if (entry.residual != 0) set_time(made.kernels[kernel], seconds_[kernel]);
    }
    tokens_.clear();
    for (std::uint32_t item = 0; item < template_.body.size(); ++item) expand_with_buckets(item, made);
    repairs += write_instructions(tokens_, made).waits;
    return made;
  }

 private:
  void add_kernel(const KernelEntry& entry, double parameters, const GpuSpec& gpu) {
    KernelCall call{entry.call.name, type_of(entry), work_of(entry, parameters)};
    const auto* timed = std::get_if<Timed>(&call.work);
    seconds_.push_back(timed != nullptr ? timed->duration.in_base_units() : time_kernel(call, gpu).seconds);
    seconds_.back() *= portable_exp(entry.residual);
    program_.kernels.push_back(std::move(call));
  }

  [[nodiscard]] KernelWork work_of(const KernelEntry& entry, double parameters) const {
    std::vector<KernelField> fields = fields_of(entry.call.work);
    std::size_t size = 0;
    for (KernelField& field : fields) {
      if (!field.is_size) continue;
      const Monomial& product = entry.sizes[size++];
      field.value = field.value == 0 ? 0 : std::max(1.0, std::round(product.value(symbols_, parameters)));
    }
    return work_with(kind_of(entry.call.work), fields);
  }

  [[nodiscard]] DataType type_of(const KernelEntry& entry) const {
    const bool may_change =
        options_.precision && is_low_precision(entry.call.type) &&
        (*options_.precision != DataType::FP8 || std::holds_alternative<Gemm>(entry.call.work));
    return may_change ? *options_.precision : entry.call.type;
  }

  [[nodiscard]] CollectiveCall call_of(const CallEntry& entry, double parameters) const {
    CollectiveCall call = entry.call;
    const double element = size_of(call.type).in_base_units();
    const double before = call.size.in_base_units();
    if (before > 0) {
      call.size = Bytes{std::max(1.0, std::round(entry.elements.value(symbols_, parameters))) * element};
      for (double& bytes : call.send_bytes) bytes *= call.size.in_base_units() / before;
    }
    return call;
  }

  /// Copies between host and GPU share links: they stay copies.
  static void set_time(KernelCall& call, double seconds) {
    const auto* copy = std::get_if<Memcpy>(&call.work);
    if (copy == nullptr || copy->path == Memcpy::Path::DeviceToDevice) call.work = Timed{Seconds{seconds}};
  }

  [[nodiscard]] double spread_of(const KernelEntry& entry) const {
    if (options_.exact) return 0;
    if (entry.support >= model_.min_support) return entry.spread;
    const auto pooled = model_.spreads.find(entry.call.name);
    return pooled != model_.spreads.end() ? pooled->second : entry.spread;
  }

  /// One item of the body, and the buckets that start in its course.
  void expand_with_buckets(std::uint32_t number, Program& made) {
    const Item& item = template_.body[number];
    const bool is_layer = grows_with_layers(item, job_.symbols);
    const double layers = is_layer ? symbols_.at("layers") / job_.symbols.at("layers") : 1;
    const std::vector<DrawnBucket> buckets =
        drawn_buckets(template_, number, is_layer ? growth_.layer * layers : growth_.calls);
    std::vector<Token> before = std::exchange(tokens_, {});
    expand({&item, 1}, false, made);
    std::vector<Token> own = std::exchange(tokens_, std::move(before));
    std::size_t next = 0;
    for (const DrawnBucket& bucket : buckets) {
      const auto until =
          static_cast<std::size_t>(std::llround(bucket.place * static_cast<double>(own.size())));
      while (next < until) tokens_.push_back(own[next++]);
      append(bucket, made);
    }
    tokens_.insert(tokens_.end(), own.begin() + static_cast<std::ptrdiff_t>(next), own.end());
  }

  void append(const DrawnBucket& bucket, Program& made) {
    for (Token token : bucket.like->tokens) {
      if (token.op == Opcode::Collective) {
        CollectiveCall call = template_.calls[token.operand].call;
        call.size = Bytes{std::max(1.0, std::round(bucket.elements)) * size_of(call.type).in_base_units()};
        token.operand = static_cast<std::uint32_t>(made.collectives.size());
        made.collectives.push_back(std::move(call));
      }
      tokens_.push_back(token);
    }
  }

  void expand(std::span<const Item> items, bool in_layer, Program& made) {
    for (const Item& item : items) {
      if (item.body.empty()) {
        tokens_.push_back(drawn(item, in_layer, made));
        continue;
      }
      const std::uint32_t count = count_with(item, symbols_, job_.symbols);
      const bool is_layer = in_layer || grows_with_layers(item, job_.symbols);
      for (std::uint32_t time = 0; time < count; ++time) expand(item.body, is_layer, made);
    }
  }

  Token drawn(const Item& item, bool in_layer, Program& made) {
    Token token = item.token;
    if (!options_.exact && item.spread > 0) {
      const auto factor = static_cast<float>(factor_of(random_, place_++, static_cast<double>(item.spread)));
      token.lead *= factor;
      token.cost *= factor;
    }
    if (token.op == Opcode::Collective && !token.per_rank && in_layer) {
      token.operand += static_cast<std::uint32_t>(template_.calls.size());
    }
    if (token.op != Opcode::Launch || token.per_rank) return token;
    const KernelEntry& entry = template_.kernels[token.operand];
    if (in_layer) token.operand += static_cast<std::uint32_t>(template_.kernels.size());
    const double spread = spread_of(entry);
    if (spread > 0) {
      KernelCall call = made.kernels[token.operand];
      set_time(call, seconds_[token.operand] * factor_of(random_, place_++, spread));
      token.operand = static_cast<std::uint32_t>(made.kernels.size());
      made.kernels.push_back(std::move(call));
    }
    return token;
  }

  const Model& model_;
  const JobModel& job_;
  const Template& template_;
  const SampleOptions& options_;
  Random random_;
  std::uint64_t place_ = 0;
  Symbols symbols_;
  Growth growth_;
  Program program_;
  std::vector<double> seconds_;  // by kernel
  std::vector<Token> tokens_;
};

/// Whether draws of the same template differ.
bool varies(const Template& tmpl, const Model& model) {
  const std::function<bool(const std::vector<Item>&)> any = [&](const std::vector<Item>& items) {
    return std::ranges::any_of(items, [&](const Item& item) {
      if (!item.body.empty()) return any(item.body);
      if (item.spread > 0) return true;
      if (item.token.op != Opcode::Launch || item.token.per_rank) return false;
      const KernelEntry& kernel = tmpl.kernels[item.token.operand];
      const auto pooled = model.spreads.find(kernel.call.name);
      return kernel.spread > 0 || (pooled != model.spreads.end() && pooled->second > 0);
    });
  };
  return any(tmpl.body);
}

Symbols symbols_with(const JobModel& job, const Symbols& wanted) {
  Symbols symbols = job.symbols;
  for (const auto& [name, value] : wanted) {
    if (!symbols.contains(name)) {
      std::vector<std::string> known;
      for (const auto& [symbol, number] : job.symbols) known.push_back(symbol);
      throw std::invalid_argument{
          fmt::format("the model has no symbol '{}' (it has {}): name it when the model is fitted, with "
                      "--label {}=VALUE",
                      name, fmt::join(known, ", "), name)};
    }
    symbols[name] = value;
  }
  return symbols;
}

/// How far @p job is from what is wanted: sum of |log ratio|.
double distance(const JobModel& job, const Symbols& wanted) {
  double sum = 0;
  for (const auto& [name, value] : wanted) {
    const auto known = job.symbols.find(name);
    constexpr double kMissing = 1e6;
    sum += known == job.symbols.end() ? kMissing : std::abs(std::log(value / known->second));
  }
  return sum;
}

/// The job whose structure is taken: the nearest to what is wanted; of several by lot.
std::size_t drawn_job(const Model& model, const SampleOptions& options) {
  std::vector<std::size_t> nearest;
  double least = 0;
  for (std::size_t i = 0; i < model.jobs.size(); ++i) {
    const double away = distance(model.jobs[i], options.symbols);
    if (nearest.empty() || away < least) {
      nearest = {i};
      least = away;
    } else if (away == least) {
      nearest.push_back(i);
    }
  }
  const Random random{options.seed, "synth.job"};
  return nearest[static_cast<std::size_t>(random.uniform(0) * static_cast<double>(nearest.size()))];
}

double ratio(double after, double before) {
  return before > 0 && after > 0 ? after / before : 1;
}

/// Growth of sizes. All gradients are reduced: collectives outside of layers reduce what layers leave.
Growth growth_of(const JobModel& job, const Template& tmpl, const Symbols& symbols) {
  const Parameters before = parameters_of(tmpl, job.symbols, job.symbols);
  const Parameters after = parameters_of(tmpl, symbols, job.symbols);
  Growth growth;
  growth.kernels = ratio(after.all, before.all);
  growth.calls = growth.kernels;
  if (before.of_layers == 0) return growth;
  const double layers = symbols.at("layers") / job.symbols.at("layers");
  growth.layer = ratio(after.of_layers, before.of_layers) / layers;
  const Parameters reduced = reduced_elements(tmpl, job.symbols);
  const double outside = reduced.all - reduced.of_layers;
  const double left = reduced.all * growth.kernels - reduced.of_layers * growth.layer * layers;
  constexpr double kLeast = 0.1;
  if (outside > 0) growth.calls = std::max(left / outside, kLeast);
  return growth;
}

bool reduces_gradients(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllGather;
}

/// Use of a group: most bytes that a member hands to one reduction, and whether it has messages.
struct GroupUse {
  double reduced = 0;
  bool has_messages = false;
};

std::vector<GroupUse> uses_of(const Job& job) {
  std::vector<GroupUse> uses(job.groups.size());
  for (const RankAssignment& rank : job.ranks) {
    const Program& program = *job.programs[rank.program];
    for (const CollectiveCall& call : program.collectives) {
      GroupUse& use = uses[rank.groups[call.group]];
      use.has_messages =
          use.has_messages || call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
      if (reduces_gradients(call.kind)) use.reduced = std::max(use.reduced, call.size.in_base_units());
    }
  }
  return uses;
}

/// Groups of data parallelism: those of all ranks, else those whose members lie farthest apart.
std::vector<bool> growing_groups(const Job& job) {
  const std::vector<GroupUse> uses = uses_of(job);
  std::vector<bool> grows(job.groups.size(), false);
  std::uint32_t widest = 0;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& ranks = job.groups[i].ranks;
    grows[i] = ranks.size() == job.ranks.size() && !uses[i].has_messages;
    if (ranks.size() > 1 && !uses[i].has_messages && !grows[i])
      widest = std::max(widest, ranks[1] - ranks[0]);
  }
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& ranks = job.groups[i].ranks;
    const bool is_apart = ranks.size() > 1 && !uses[i].has_messages && ranks[1] - ranks[0] == widest;
    grows[i] = grows[i] || is_apart || ranks.size() == 1;
  }
  return grows;
}

}  // namespace

Job replicated(const Job& job, std::uint32_t times) {
  const std::vector<bool> grows = growing_groups(job);
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  Job made;
  made.steps = job.steps;
  for (const auto& program : job.programs) {
    auto copy = std::make_shared<Program>(*program);
    made.programs.push_back(copy);
  }
  std::vector<std::vector<std::uint32_t>> group(times, std::vector<std::uint32_t>(job.groups.size()));
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    for (std::uint32_t time = 0; time < times; ++time) {
      const bool is_new = time == 0 || !grows[i];
      group[time][i] = is_new ? static_cast<std::uint32_t>(made.groups.size()) : group[0][i];
      if (is_new) made.groups.push_back({fmt::format("group{}", made.groups.size() + 1), {}});
      for (const std::uint32_t rank : job.groups[i].ranks) {
        made.groups[group[time][i]].ranks.push_back(time * ranks + rank);
      }
    }
  }
  for (std::uint32_t time = 0; time < times; ++time) {
    for (RankAssignment rank : job.ranks) {
      for (std::uint32_t& of_rank : rank.groups) of_rank = group[time][of_rank];
      made.ranks.push_back(std::move(rank));
    }
  }
  return made;
}

namespace {

/// Uneven all-to-alls of groups that grew: a member sends each its part to as many more.
void spread_over(Job& job, std::uint32_t times) {
  for (auto& shared : job.programs) {
    auto program = std::make_shared<Program>(*shared);
    for (CollectiveCall& call : program->collectives) {
      if (call.send_bytes.empty()) continue;
      std::vector<double> bytes;
      for (std::uint32_t time = 0; time < times; ++time) {
        for (const double part : call.send_bytes) bytes.push_back(part / times);
      }
      call.send_bytes = std::move(bytes);
    }
    shared = std::move(program);
  }
}

Job job_of(const Model& model, std::size_t number, const Symbols& symbols, const GpuSpec& gpu,
           const SampleOptions& options, std::uint64_t& repairs) {
  const JobModel& source = model.jobs[number];
  Job job;
  job.groups = source.groups;
  job.ranks = source.ranks;
  job.steps = source.steps;
  std::vector<std::vector<std::uint32_t>> variants;
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(options.variants, source.ranks.size()));
  for (const Template& tmpl : source.templates) {
    ProgramSampler sampler{model, source, tmpl, options};
    sampler.use(symbols, growth_of(source, tmpl, symbols), gpu);
    std::vector<std::uint32_t> of_template;
    const std::uint32_t count = !options.exact && varies(tmpl, model) ? std::max(most, 1U) : 1;
    for (std::uint32_t variant = 0; variant < count; ++variant) {
      of_template.push_back(static_cast<std::uint32_t>(job.programs.size()));
      job.programs.push_back(std::make_shared<const Program>(sampler.program(variant, repairs)));
    }
    variants.push_back(std::move(of_template));
  }
  std::map<std::uint32_t, std::size_t> used;
  for (RankAssignment& rank : job.ranks) {
    const auto& of_template = variants[rank.program];
    rank.program = of_template[used[rank.program]++ % of_template.size()];
  }
  return job;
}

}  // namespace

Sample sample(const Model& model, const GpuSpec& gpu, const SampleOptions& options) {
  Sample made;
  made.source = drawn_job(model, options);
  const JobModel& source = model.jobs[made.source];
  made.symbols = symbols_with(source, options.symbols);
  const auto ranks = static_cast<std::uint32_t>(made.symbols.at("ranks"));
  const auto recorded = static_cast<std::uint32_t>(source.ranks.size());
  if (ranks == 0 || ranks % recorded != 0) {
    throw std::invalid_argument{fmt::format(
        "{} ranks were asked for: a multiple of the {} that the job was recorded with is possible", ranks,
        recorded)};
  }
  made.job = job_of(model, made.source, made.symbols, gpu, options, made.repairs);
  if (ranks > recorded) {
    made.job = replicated(made.job, ranks / recorded);
    spread_over(made.job, ranks / recorded);
  }
  check(made.job);
  if (const std::string conflict = conflict_of(made.job); !conflict.empty()) {
    throw std::invalid_argument{"the sample cannot run: " + conflict};
  }
  return made;
}

namespace {

/// Collectives that a rank calls in each of its groups, in launch order, without messages. The calls of a
/// group are sorted where several threads make them: their order differs from run to run.
std::map<std::uint32_t, std::vector<std::string>> calls_of(const Program& program,
                                                           const RankAssignment& rank) {
  std::map<std::uint32_t, std::vector<std::string>> calls;
  std::map<std::uint32_t, std::set<std::uint8_t>> threads;
  for (const Token& token : tokens_of(program)) {
    if (token.op != Opcode::Collective) continue;
    const CollectiveCall& call =
        program.collectives[token.per_rank ? rank.collective_slots[token.operand] : token.operand];
    if (call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive) continue;
    const bool is_uneven = call.kind == CollectiveKind::AllToAll;
    threads[rank.groups[call.group]].insert(token.thread);
    calls[rank.groups[call.group]].push_back(
        is_uneven ? to_string(call.kind)
                  : fmt::format("{} of {:.0f} bytes", to_string(call.kind), call.size.in_base_units()));
  }
  for (const auto& [group, callers] : threads) {
    if (callers.size() > 1) std::ranges::sort(calls[group]);
  }
  return calls;
}

/// Describes the first call in which two lists differ.
std::string difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t call = 0;
  while (call < a.size() && call < b.size() && a[call] == b[call]) ++call;
  const auto text = [call](const std::vector<std::string>& calls) {
    return call < calls.size() ? calls[call] : std::string{"nothing"};
  };
  return fmt::format("call {} is {} on one and {} on another", call + 1, text(a), text(b));
}

}  // namespace

std::string conflict_of(const Job& job) {
  // Calls of a member by group; one member is checked for each kind of rank.
  std::map<std::uint32_t, std::vector<std::string>> known;
  std::set<std::pair<std::uint32_t, std::vector<std::uint32_t>>> seen;
  for (const RankAssignment& rank : job.ranks) {
    if (!seen.emplace(rank.program, rank.groups).second && rank.collective_slots.empty()) continue;
    for (auto& [group, calls] : calls_of(*job.programs[rank.program], rank)) {
      const auto [first, fresh] = known.try_emplace(group, calls);
      if (!fresh && first->second != calls) {
        return fmt::format("members of {} do not call the same: {}", job.groups[group].name,
                           difference(first->second, calls));
      }
    }
  }
  return {};
}

}  // namespace lockstep::synth
