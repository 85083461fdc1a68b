#include "synth/obfuscate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "base/portable_math.hpp"
#include "base/random.hpp"
#include "ops/data_type_name.hpp"
#include "ops/kernel_fields.hpp"

namespace lockstep::synth {
namespace {

constexpr const char* kMergedClass = "other";

bool has_shape(const KernelEntry& kernel) {
  return !std::holds_alternative<Timed>(kernel.call.work);
}

void for_each_token(std::vector<Item>& items, const std::function<void(Item&)>& change) {
  for (Item& item : items) {
    if (item.body.empty()) {
      change(item);
    } else {
      for_each_token(item.body, change);
    }
  }
}

double seconds_of(const KernelEntry& kernel) {
  return std::get<Timed>(kernel.call.work).duration.in_base_units();
}

/// Kernels without a shape, of all templates, by class.
std::map<std::string, std::vector<KernelEntry*>> timed_by_class(JobModel& job) {
  std::map<std::string, std::vector<KernelEntry*>> classes;
  for (Template& tmpl : job.templates) {
    for (KernelEntry& kernel : tmpl.kernels) {
      if (!has_shape(kernel)) classes[kernel.call.name].push_back(&kernel);
    }
  }
  return classes;
}

/// Classes that are too small to hide in become one.
std::size_t merge_small_classes(std::map<std::string, std::vector<KernelEntry*>>& classes, std::uint32_t k) {
  std::size_t merged = 0;
  std::vector<KernelEntry*> small;
  for (auto entry = classes.begin(); entry != classes.end();) {
    if (entry->second.size() >= k || entry->first == kMergedClass) {
      ++entry;
      continue;
    }
    for (KernelEntry* kernel : entry->second) {
      kernel->call.name = kMergedClass;
      small.push_back(kernel);
    }
    ++merged;
    entry = classes.erase(entry);
  }
  auto& other = classes[kMergedClass];
  other.insert(other.end(), small.begin(), small.end());
  return merged;
}

/// Groups of k to 2k - 1 neighbours take the mean of their times, weighted by how often they run.
void microaggregate(std::vector<KernelEntry*>& kernels, std::uint32_t k) {
  std::ranges::stable_sort(kernels, {}, [](const KernelEntry* kernel) { return seconds_of(*kernel); });
  for (std::size_t first = 0; first < kernels.size();) {
    const std::size_t left = kernels.size() - first;
    const std::size_t size = left < 2 * std::size_t{k} ? left : k;
    double sum = 0;
    double weight = 0;
    for (std::size_t i = first; i < first + size; ++i) {
      sum += kernels[i]->support * seconds_of(*kernels[i]);
      weight += kernels[i]->support;
    }
    for (std::size_t i = first; i < first + size; ++i) {
      kernels[i]->call.work = Timed{Seconds{weight > 0 ? sum / weight : 0}};
    }
    first += size;
  }
}

void hide_calls(JobModel& job, const ObfuscateOptions& options, double scale) {
  for (Template& tmpl : job.templates) {
    for (CallEntry& entry : tmpl.calls) {
      if (options.keep_communication) continue;
      entry.elements.factor *= scale;
      if (entry.elements.powers.empty()) entry.elements.factor = coarse(entry.elements.factor, options.sizes);
      if (entry.call.recorded) {
        entry.call.recorded = Seconds{coarse(scale * entry.call.recorded->in_base_units(), options.sizes)};
      }
    }
  }
}

/// A coarse size that is divisible by as large a power of two, up to 64, as the size: kernels of odd sizes
/// are other kernels.
double coarse_size(double value, SizeHiding sizes) {
  double unit = 1;
  constexpr double kMostUnit = 64;
  while (unit < kMostUnit && std::fmod(value, 2 * unit) == 0) unit *= 2;
  return std::max(std::round(coarse(value, sizes) / unit), 1.0) * unit;
}

/// Sizes of kernels that follow from no symbol: copies, fills, rows of tables.
void hide_plain_sizes(JobModel& job, SizeHiding sizes) {
  for (Template& tmpl : job.templates) {
    for (KernelEntry& kernel : tmpl.kernels) {
      for (Monomial& size : kernel.sizes) {
        if (size.powers.empty()) size.factor = coarse_size(size.factor, sizes);
      }
    }
  }
}

void hide_host_times(JobModel& job, SizeHiding sizes, double scale) {
  for (Template& tmpl : job.templates) {
    for_each_token(tmpl.body, [&](Item& item) {
      item.token.lead = static_cast<float>(coarse(scale * static_cast<double>(item.token.lead), sizes));
      item.token.cost = static_cast<float>(coarse(scale * static_cast<double>(item.token.cost), sizes));
    });
  }
}

void scale_times(JobModel& job, double scale) {
  for (Template& tmpl : job.templates) {
    for (KernelEntry& kernel : tmpl.kernels) {
      if (has_shape(kernel)) {
        kernel.residual += std::log(scale);
      } else {
        kernel.call.work = Timed{Seconds{scale * seconds_of(kernel)}};
      }
    }
  }
}

void add_noise(Model& model, double noise) {
  for (JobModel& job : model.jobs) {
    for (Template& tmpl : job.templates) {
      for (KernelEntry& kernel : tmpl.kernels) {
        kernel.spread = std::hypot(kernel.spread, noise);
        kernel.support = std::max(kernel.support, model.min_support);
      }
      for_each_token(tmpl.body, [&](Item& item) {
        item.spread = static_cast<float>(std::hypot(static_cast<double>(item.spread), noise));
      });
    }
  }
}

Symbols coarse_symbols(const Symbols& symbols, SizeHiding sizes) {
  Symbols made;
  for (const auto& [name, value] : symbols) {
    if (name != "ranks" && name != "layers") made[name] = coarse_size(value, sizes);
  }
  return made;
}

/// Draws a factor in [1/most, most], uniform in its logarithm.
double secret_factor(const Random& random, std::uint64_t place, double most) {
  return portable_exp(portable_log(most) * (2 * random.uniform(place) - 1));
}

constexpr double kMostScale = 4, kMostLayers = 1.5;

/// A kernel in words: equal ones have equal words.
std::string words_of(const KernelCall& call) {
  std::string words = fmt::format("{} {}", call.name, data_type_name(call.type));
  for (const KernelField& field : fields_of(call.work)) words += fmt::format(" {:.3g}", field.value);
  if (const auto* timed = std::get_if<Timed>(&call.work)) {
    words += fmt::format(" {:.1e}", timed->duration.in_base_units());
  }
  return words;
}

}  // namespace

double coarse(double value, SizeHiding sizes) {
  if (!(value > 0) || sizes == SizeHiding::Exact) return value;
  if (sizes == SizeHiding::Log2) return std::exp2(std::round(std::log2(value)));
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::round(value / step) * step;
}

ObfuscateReport obfuscate(Model& model, const ObfuscateOptions& options, SampleOptions& sampled) {
  ObfuscateReport report;
  JobModel& job = model.jobs.front();
  const Random random{options.seed, "synth.totals"};
  sampled.seed = options.seed;
  sampled.exact = options.noise == 0;
  const bool shows_sizes = options.k == 1;  // else kernels go into pieces, or as many jobs have the same
  if (shows_sizes) sampled.symbols = coarse_symbols(job.symbols, options.sizes);
  const auto layers = job.symbols.find("layers");
  if (options.hide_totals) {
    report.scale = secret_factor(random, 0, kMostScale);
    if (layers != job.symbols.end()) {
      const double wanted = std::max(3.0, std::round(layers->second * secret_factor(random, 1, kMostLayers)));
      report.layers = wanted / layers->second;
      sampled.symbols["layers"] = wanted;
    }
    scale_times(job, report.scale);
  }
  auto classes = timed_by_class(job);
  report.merged_classes = merge_small_classes(classes, options.k);
  for (auto& [name, kernels] : classes) {
    microaggregate(kernels, options.k);
    report.shared += kernels.size();
  }
  hide_calls(job, options, report.scale);
  if (shows_sizes) hide_plain_sizes(job, options.sizes);
  hide_host_times(job, options.sizes, report.scale);
  for (const Template& tmpl : job.templates) {
    report.kernels += tmpl.kernels.size();
    report.shaped += static_cast<std::size_t>(std::ranges::count_if(tmpl.kernels, has_shape));
  }
  if (options.noise > 0) add_noise(model, options.noise);
  return report;
}

void add_support(const Job& job, KernelSupport& support) {
  std::set<std::string> found;
  for (const auto& program : job.programs) {
    for (const KernelCall& call : program->kernels) found.insert(words_of(call));
  }
  for (const std::string& words : found) ++support[words];
}

AggregateReport hide_rare(Sample& made, const JobModel& job, const GpuSpec& gpu,
                          const ObfuscateOptions& options, const KernelSupport& support) {
  AggregateOptions how;
  how.has_launches = job.has_launches;
  how.alone = options.alone;
  how.coarse = [&](double seconds) { return coarse(seconds, options.sizes); };
  how.stays = [&](const KernelCall& call) {
    const auto known = support.find(words_of(call));
    return known != support.end() && known->second >= options.k;
  };
  return aggregate(made.job, gpu, how);
}

}  // namespace lockstep::synth
