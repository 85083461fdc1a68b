#include "synth/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

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
  for (const Template& tmpl : made.templates) layers = std::max(layers, layers_of(tmpl.body));
  if (layers >= 3) made.symbols["layers"] = layers;
  made.symbols["ranks"] = static_cast<double>(made.ranks.size());
  for (const auto& [name, value] : recording.labels) made.symbols[name] = value;
  return made;
}

/// What jobs must share for their sizes to be compared: kinds of kernels and collectives, in their order.
std::vector<std::uint64_t> skeleton(const JobModel& job) {
  std::vector<std::uint64_t> words;
  constexpr std::uint64_t kKinds = 1000;
  for (const Template& tmpl : job.templates) {
    for (const KernelEntry& kernel : tmpl.kernels) {
      words.push_back(kKinds + kernel.call.work.index() * kKinds + static_cast<std::uint64_t>(kernel.call.type));
    }
    for (const CallEntry& call : tmpl.calls) words.push_back(static_cast<std::uint64_t>(call.call.kind));
    words.push_back(~std::uint64_t{0});
  }
  for (const auto& [name, value] : job.symbols) words.push_back(std::hash<std::string>{}(name));
  return words;
}

/// Symbols that are equal wherever both are known cannot be told apart by their values.
void note_unclear(std::span<JobModel*> jobs) {
  const Symbols& first = jobs.front()->symbols;
  for (auto a = first.begin(); a != first.end(); ++a) {
    for (auto b = std::next(a); b != first.end(); ++b) {
      const bool always = std::ranges::all_of(jobs, [&](const JobModel* job) {
        return job->symbols.at(a->first) == job->symbols.at(b->first);
      });
      const bool both_shapes = a->first != "layers" && a->first != "ranks" && b->first != "layers" && b->first != "ranks";
      if (!always || !both_shapes) continue;
      for (JobModel* job : jobs) job->unclear.push_back(a->first + " and " + b->first);
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
  std::map<std::vector<std::uint64_t>, std::vector<JobModel*>> alike;
  for (JobModel& job : model.jobs) alike[skeleton(job)].push_back(&job);
  for (auto& [words, jobs] : alike) {
    express_sizes(jobs);
    note_unclear(jobs);
  }
  model.spreads = pooled_spreads(model);
  return model;
}

}  // namespace lockstep::synth
