#include "synth/program_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "base/portable_math.hpp"
#include "ops/kernel_fields.hpp"
#include "sim/compiled_program.hpp"
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

/// Copies between host and GPU share links: they stay copies.
void set_time(KernelCall& call, double seconds) {
  const auto* copy = std::get_if<Memcpy>(&call.work);
  if (copy == nullptr || copy->path == Memcpy::Path::DeviceToDevice) call.work = Timed{Seconds{seconds}};
}

bool is_matrix_gradient(const KernelEntry& kernel, const Symbols& symbols) {
  const auto gradient = gradient_elements(kernel, symbols);
  return gradient && gradient->is_matrix;
}

double ratio(double after, double before) {
  return before > 0 && after > 0 ? after / before : 1;
}

}  // namespace

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

ProgramSampler::ProgramSampler(const Model& model, const JobModel& job, const Template& tmpl,
                               const SampleOptions& options)
    : model_{model},
      job_{job},
      template_{tmpl},
      options_{options},
      random_{Random{options.seed, "synth.times"}},
      rows_{launch_rows(tmpl)},
      rule_{bucket_rule(tmpl, job.symbols)} {}

void ProgramSampler::use(const Symbols& symbols, const Growth& growth, const GpuSpec& gpu) {
  symbols_ = symbols;
  growth_ = growth;
  program_ = template_.program;
  program_.kernels.clear();
  program_.collectives.clear();
  growths_ = {growth.kernels, growth.layer};
  for (const LaunchRow& row : rows_) {
    const double within = growth_within(row);
    if (std::ranges::find(growths_, within) == growths_.end()) growths_.push_back(within);
  }
  for (const double parameters : growths_) {
    for (const KernelEntry& entry : template_.kernels) add_kernel(entry, parameters, gpu);
  }
  for (const double parameters : {growth.calls, growth.layer}) {
    for (const CallEntry& entry : template_.calls) program_.collectives.push_back(call_of(entry, parameters));
  }
}

Program ProgramSampler::program(std::uint32_t variant, std::uint64_t& repairs) {
  random_ = Random{options_.seed, "synth.times"}.of(variant);
  place_ = 0;
  Program made = program_;
  // Kernels that were always timed the same stay as they are; others are timed as they are drawn.
  for (std::size_t kernel = 0; kernel < made.kernels.size(); ++kernel) {
    const KernelEntry& entry = template_.kernels[kernel % template_.kernels.size()];
    if (entry.residual != 0) set_time(made.kernels[kernel], seconds_[kernel]);
  }
  tokens_.clear();
  filler_.reset();
  delay_.reset();
  closed_ = 0;
  if (rule_ && has_other_parameters()) filler_.emplace(*rule_, symbols_);
  auto row = rows_.begin();
  for (std::uint32_t item = 0; item < template_.body.size(); ++item) {
    if (row != rows_.end() && item == row->first) {
      expand(*row, made);
      item = static_cast<std::uint32_t>((row++)->last) - 1;
    } else if (filler_) {
      expand_with_last_bucket(item, made);
    } else {
      expand_with_buckets(item, made);
    }
  }
  repairs += write_instructions(tokens_, made).waits;
  return made;
}

void ProgramSampler::add_kernel(const KernelEntry& entry, double parameters, const GpuSpec& gpu) {
  KernelCall call{entry.call.name, type_of(entry), work_of(entry, parameters)};
  const auto* timed = std::get_if<Timed>(&call.work);
  seconds_.push_back(timed != nullptr ? timed->duration.in_base_units() : time_kernel(call, gpu).seconds);
  seconds_.back() *= portable_exp(entry.residual);
  program_.kernels.push_back(std::move(call));
}

KernelWork ProgramSampler::work_of(const KernelEntry& entry, double parameters) const {
  std::vector<KernelField> fields = fields_of(entry.call.work);
  std::size_t size = 0;
  for (KernelField& field : fields) {
    if (!field.is_size) continue;
    const Monomial& product = entry.sizes[size++];
    field.value = field.value == 0 ? 0 : std::max(1.0, std::round(product.value(symbols_, parameters)));
  }
  return work_with(kind_of(entry.call.work), fields);
}

DataType ProgramSampler::type_of(const KernelEntry& entry) const {
  const bool may_change =
      options_.precision && is_low_precision(entry.call.type) &&
      (*options_.precision != DataType::FP8 || std::holds_alternative<Gemm>(entry.call.work));
  return may_change ? *options_.precision : entry.call.type;
}

CollectiveCall ProgramSampler::call_of(const CallEntry& entry, double parameters) const {
  CollectiveCall call = entry.call;
  const double element = size_of(call.type).in_base_units();
  const double before = call.size.in_base_units();
  if (before > 0) {
    call.size = Bytes{std::max(1.0, std::round(entry.elements.value(symbols_, parameters))) * element};
    for (double& bytes : call.send_bytes) bytes *= call.size.in_base_units() / before;
  }
  return call;
}

double ProgramSampler::spread_of(const KernelEntry& entry) const {
  if (options_.exact) return 0;
  if (entry.support >= model_.min_support) return entry.spread;
  const auto pooled = model_.spreads.find(entry.call.name);
  return pooled != model_.spreads.end() ? pooled->second : entry.spread;
}

/// One item of the body, and the buckets that start in its course.
void ProgramSampler::expand_with_buckets(std::uint32_t number, Program& made) {
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
    const auto until = static_cast<std::size_t>(std::llround(bucket.place * static_cast<double>(own.size())));
    while (next < until) tokens_.push_back(own[next++]);
    append(bucket, made);
  }
  tokens_.insert(tokens_.end(), own.begin() + static_cast<std::ptrdiff_t>(next), own.end());
}

/// One item of the body. Its gradients fill buckets; the last bucket stays where it was recorded.
void ProgramSampler::expand_with_last_bucket(std::uint32_t number, Program& made) {
  const Bucket& last = template_.buckets.back();
  expand({&template_.body[number], 1}, false, made);
  if (last.item != number) return;
  start_bucket(made);
  append({&last, last.place, filler_->rest(growth_.kernels)}, made);
}

/// Draws a token of the body, and the bucket that is to start behind it.
void ProgramSampler::push(const Item& item, std::size_t growth, Program& made) {
  const bool is_kernel = item.token.op == Opcode::Launch && !item.token.per_rank;
  const KernelEntry* const kernel = is_kernel ? &template_.kernels[item.token.operand] : nullptr;
  if (delay_ && kernel != nullptr && is_matrix_gradient(*kernel, symbols_)) start_bucket(made);
  tokens_.push_back(drawn(item, growth, made));
  if (delay_ && *delay_ > 0) --*delay_;
  if (filler_ && kernel != nullptr && filler_->add(*kernel)) delay_ = rule_->delay;
  if (delay_ && *delay_ == 0) start_bucket(made);
}

void ProgramSampler::start_bucket(Program& made) {
  if (!delay_) return;
  const std::vector<Bucket>& recorded = template_.buckets;
  const Bucket& like = recorded[closed_ == 0 ? 0 : 1 + (closed_ - 1) % (recorded.size() - 2)];
  ++closed_;
  delay_.reset();
  append({&like, like.place, filler_->take()}, made);
}

void ProgramSampler::append(const DrawnBucket& bucket, Program& made) {
  for (Token token : bucket.like->tokens) {
    if (token.op == Opcode::Collective) {
      CollectiveCall call = template_.calls[token.operand].call;
      if (call.size > Bytes{0}) {  // else the recording does not tell it
        call.size = Bytes{std::max(1.0, std::round(bucket.elements)) * size_of(call.type).in_base_units()};
      }
      token.operand = static_cast<std::uint32_t>(made.collectives.size());
      made.collectives.push_back(std::move(call));
    }
    tokens_.push_back(token);
  }
}

void ProgramSampler::expand(std::span<const Item> items, bool in_layer, Program& made) {
  for (const Item& item : items) {
    if (item.body.empty()) {
      push(item, in_layer ? 1 : 0, made);
      continue;
    }
    const std::uint32_t count = in_layer ? item.count : count_with(item, symbols_, job_.symbols);
    const bool is_layer = in_layer || grows_with_layers(item, job_.symbols);
    for (std::uint32_t time = 0; time < count; ++time) expand(item.body, is_layer, made);
  }
}

/// So many more launches as the parameters have grown, of the recorded ones in turn.
void ProgramSampler::expand(const LaunchRow& row, Program& made) {
  const auto found = std::ranges::find(growths_, growth_within(row));
  const std::size_t wanted = drawn_launches(row);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t like = (2 * i + 1) * row.launches.size() / (2 * wanted);
    tokens_.push_back(drawn(*row.launches[like], static_cast<std::size_t>(found - growths_.begin()), made));
  }
}

std::size_t ProgramSampler::drawn_launches(const LaunchRow& row) const {
  return std::max(
      std::size_t{1},
      static_cast<std::size_t>(std::llround(static_cast<double>(row.launches.size()) * growth_.kernels)));
}

/// Growth of the sizes in a row: what its number of launches leaves.
double ProgramSampler::growth_within(const LaunchRow& row) const {
  return growth_.kernels * static_cast<double>(row.launches.size()) /
         static_cast<double>(drawn_launches(row));
}

Token ProgramSampler::drawn(const Item& item, std::size_t growth, Program& made) {
  Token token = item.token;
  if (!options_.exact && item.spread > 0) {
    const auto factor = static_cast<float>(factor_of(random_, place_++, static_cast<double>(item.spread)));
    token.lead *= factor;
    token.cost *= factor;
  }
  if (token.op == Opcode::Collective && !token.per_rank) {
    token.operand += static_cast<std::uint32_t>(growth * template_.calls.size());
  }
  if (token.op != Opcode::Launch || token.per_rank) return token;
  const KernelEntry& entry = template_.kernels[token.operand];
  token.operand += static_cast<std::uint32_t>(growth * template_.kernels.size());
  const double spread = spread_of(entry);
  if (spread > 0) {
    KernelCall call = made.kernels[token.operand];
    set_time(call, seconds_[token.operand] * factor_of(random_, place_++, spread));
    token.operand = static_cast<std::uint32_t>(made.kernels.size());
    made.kernels.push_back(std::move(call));
  }
  return token;
}

}  // namespace lockstep::synth
