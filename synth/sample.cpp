#include "synth/sample.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/random.hpp"
#include "synth/constraints.hpp"
#include "synth/program_sampler.hpp"
#include "synth/replicas.hpp"

namespace lockstep::synth {
namespace {

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
  if (ranks > recorded) made.job = replicated(made.job, ranks / recorded);
  check(made.job);
  if (const std::string conflict = conflict_of(made.job); !conflict.empty()) {
    throw std::invalid_argument{"the sample cannot run: " + conflict};
  }
  return made;
}

}  // namespace lockstep::synth
