#include "synth/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ops/call_hash.hpp"
#include "synth/express_sizes.hpp"
#include "synth/symbols.hpp"
#include "synth/templates.hpp"

namespace lockstep::synth {
namespace {

std::uint64_t tokens_in(const Program& program) {
  std::uint64_t tokens = 0;
  for (const Program::Thread& thread : program.threads) tokens += thread.instructions.size();
  return tokens;
}

JobModel job_model(const Recording& recording, const FitOptions& options) {
  JobModel made;
  made.gpu = recording.gpu.name;
  made.cluster = recording.cluster;
  made.has_launches = recording.has_launches;
  made.interferes = recording.interferes;
  made.steps = recording.job.steps;
  made.ranks = recording.job.ranks;
  for (std::size_t group = 0; group < recording.job.groups.size(); ++group) {
    made.groups.push_back({fmt::format("group{}", group + 1), recording.job.groups[group].ranks});
  }
  for (std::size_t program = 0; program < recording.job.programs.size(); ++program) {
    made.templates.push_back(template_of(recording, program, options));
    made.tokens += tokens_in(*recording.job.programs[program]);
    for (const auto& [name, value] : symbols_told_by(made.templates.back())) {
      made.symbols.emplace(name, value);
    }
  }
  std::uint32_t layers = 0;
  for (const Template& tmpl : made.templates) layers = std::max(layers, layers_of(tmpl));
  if (layers >= 3) made.symbols["layers"] = layers;
  made.symbols["ranks"] = static_cast<double>(made.ranks.size());
  for (const auto& [name, value] : recording.labels) made.symbols[name] = value;
  return made;
}

void for_each_item(std::vector<Item>& items, const std::function<void(Item&)>& visit) {
  for (Item& item : items) {
    visit(item);
    for_each_item(item.body, visit);
  }
}

bool is_launch(const Item& item) {
  return item.body.empty() && item.token.op == Opcode::Launch && !item.token.per_rank;
}
bool is_call(const Item& item) {
  return item.body.empty() && item.token.op == Opcode::Collective && !item.token.per_rank;
}

/// Every place gets entries of its own: kernels that have the same shape in one job may differ in another.
void separate_entries(Template& tmpl) {
  for_each_item(tmpl.body, [&](Item& item) {
    if (is_launch(item)) {
      tmpl.kernels.push_back(KernelEntry{tmpl.kernels[item.token.operand]});
      item.token.operand = static_cast<std::uint32_t>(tmpl.kernels.size() - 1);
    } else if (is_call(item)) {
      tmpl.calls.push_back(CallEntry{tmpl.calls[item.token.operand]});
      item.token.operand = static_cast<std::uint32_t>(tmpl.calls.size() - 1);
    }
  });
}

std::size_t hash_of_entry(const KernelEntry& entry) {
  return hash_of(entry.call);
}
std::size_t hash_of_entry(const CallEntry& entry) {
  return hash_of(entry.call);
}

/// Entries that are used, each once.
template <class Entry>
class UsedEntries {
 public:
  explicit UsedEntries(const std::vector<Entry>& all) : all_{all} {}
  std::uint32_t number_of(std::uint32_t entry) {
    const std::size_t hash = hash_of_entry(all_[entry]);
    const auto [begin, end] = numbers_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      if (used_[known->second] == all_[entry]) return known->second;
    }
    const auto number = static_cast<std::uint32_t>(used_.size());
    used_.push_back(all_[entry]);
    numbers_.emplace(hash, number);
    return number;
  }
  [[nodiscard]] std::vector<Entry> take() && { return std::move(used_); }

 private:
  const std::vector<Entry>& all_;
  std::vector<Entry> used_;
  std::unordered_multimap<std::size_t, std::uint32_t> numbers_;
};

/// Equal entries are one again; those of no place and no slot go.
void join_entries(JobModel& job, std::uint32_t number) {
  Template& tmpl = job.templates[number];
  UsedEntries<KernelEntry> kernels{tmpl.kernels};
  UsedEntries<CallEntry> calls{tmpl.calls};
  for_each_item(tmpl.body, [&](Item& item) {
    if (is_launch(item)) item.token.operand = kernels.number_of(item.token.operand);
    if (is_call(item)) item.token.operand = calls.number_of(item.token.operand);
  });
  for (Bucket& bucket : tmpl.buckets) {
    for (Token& token : bucket.tokens) {
      if (token.op != Opcode::Collective) continue;
      const CollectiveCall& call = tmpl.calls[token.operand].call;
      const double elements = call.size.in_base_units() / size_of(call.type).in_base_units();
      tmpl.calls[token.operand].elements = {elements, {}, true};
      token.operand = calls.number_of(token.operand);
    }
  }
  for (RankAssignment& rank : job.ranks) {
    if (rank.program != number) continue;
    for (std::uint32_t& slot : rank.kernel_slots) slot = kernels.number_of(slot);
    for (std::uint32_t& slot : rank.collective_slots) slot = calls.number_of(slot);
  }
  tmpl.kernels = std::move(kernels).take();
  tmpl.calls = std::move(calls).take();
}

/// Symbols of shapes that are equal in all jobs cannot be told apart by their values.
void note_unclear(std::vector<JobModel>& jobs) {
  const auto equal_in = [](const JobModel& job, const std::string& a, const std::string& b) {
    const auto first = job.symbols.find(a);
    const auto second = job.symbols.find(b);
    return first == job.symbols.end() || second == job.symbols.end() || first->second == second->second;
  };
  const auto is_of_shapes = [](const std::string& name) { return name != "layers" && name != "ranks"; };
  for (JobModel& job : jobs) {
    for (auto a = job.symbols.begin(); a != job.symbols.end(); ++a) {
      for (auto b = std::next(a); b != job.symbols.end(); ++b) {
        const bool always = std::ranges::all_of(
            jobs, [&](const JobModel& other) { return equal_in(other, a->first, b->first); });
        if (always && is_of_shapes(a->first) && is_of_shapes(b->first)) {
          job.unclear.push_back(a->first + " and " + b->first);
        }
      }
    }
  }
}

std::map<std::string, double> pooled_spreads(const Model& model) {
  std::map<std::string, std::pair<double, double>> sums;  // by class: weighted squares, weights
  for (const JobModel& job : model.jobs) {
    for (const Template& tmpl : job.templates) {
      for (const KernelEntry& kernel : tmpl.kernels) {
        if (kernel.support < model.min_support) continue;
        auto& [squares, weight] = sums[kernel.call.name];
        squares += kernel.support * kernel.spread * kernel.spread;
        weight += kernel.support;
      }
    }
  }
  std::map<std::string, double> spreads;
  for (const auto& [name, sum] : sums) spreads[name] = std::sqrt(sum.first / sum.second);
  return spreads;
}

/// The order of the recordings says nothing.
bool before(const JobModel& a, const JobModel& b) {
  const auto key = [](const JobModel& job) {
    double seconds = 0;
    for (const Template& tmpl : job.templates) {
      for (const Item& item : tmpl.body) seconds += static_cast<double>(item.token.lead);
    }
    return std::tuple{job.symbols, job.tokens, job.gpu, job.cluster, seconds};
  };
  return key(a) < key(b);
}

}  // namespace

Model fit(std::span<const Recording> recordings, const FitOptions& options) {
  if (recordings.empty()) throw std::invalid_argument{"a model needs at least one recorded job"};
  Model model;
  model.family = options.family;
  model.min_support = options.min_support;
  for (const Recording& recording : recordings) model.jobs.push_back(job_model(recording, options));
  std::ranges::sort(model.jobs, before);
  for (JobModel& job : model.jobs) std::ranges::for_each(job.templates, separate_entries);
  express_sizes(model.jobs);
  note_unclear(model.jobs);
  for (JobModel& job : model.jobs) {
    for (std::uint32_t number = 0; number < job.templates.size(); ++number) join_entries(job, number);
  }
  model.spreads = pooled_spreads(model);
  return model;
}

}  // namespace lockstep::synth
