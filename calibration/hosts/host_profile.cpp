#include "calibration/hosts/host_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

constexpr double kMicro = 1e6;
constexpr Seconds kShortestCall{0.5e-6};

/// Between the samples around it, as if one more stood at either end ("exclusive" quantiles).
double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size()) - 1;
  const double place = std::clamp(share * (last + 2) - 1, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

std::vector<double> sorted_micros(const std::vector<Seconds>& samples) {
  std::vector<double> sorted;
  std::ranges::transform(samples, std::back_inserter(sorted),
                         [](Seconds sample) { return kMicro * sample.in_base_units(); });
  std::ranges::sort(sorted);
  return sorted;
}

double median(const std::vector<Seconds>& samples) {
  return quantile(sorted_micros(samples), 0.5);
}

std::vector<double> without_outliers(const std::vector<Seconds>& samples) {
  constexpr std::size_t kFewest = 4;
  constexpr double kReach = 1.5;
  std::vector<double> kept = sorted_micros(samples);
  if (kept.size() >= kFewest) {
    const double low = quantile(kept, 0.25), high = quantile(kept, 0.75);
    const double reach = kReach * (high - low);
    std::erase_if(kept, [&](double value) { return value < low - reach || value > high + reach; });
  }
  return kept;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_without_outliers(const std::vector<Seconds>& samples) {
  return mean_of(without_outliers(samples));
}

/// A part of operators by its key.
struct Part {
  const char* key;
  std::vector<Seconds> OperatorSamples::*samples;
  Seconds OperatorOverhead::*overhead;
};

constexpr std::array kParts{
    Part{"before_first_launch", &OperatorSamples::before_first_launch,
         &OperatorOverhead::before_first_launch},
    Part{"after_last_launch", &OperatorSamples::after_last_launch, &OperatorOverhead::after_last_launch},
    Part{"between_launches", &OperatorSamples::between_launches, &OperatorOverhead::between_launches},
    Part{"without_launch", &OperatorSamples::without_launch, &OperatorOverhead::without_launch}};

/// Cost of an operator's calls, us and us^2: its parts are taken to vary on their own.
struct CallCost {
  double mean = 0, variance = 0;
  [[nodiscard]] double spread() const { return mean > 0 ? std::sqrt(variance) / mean : 0; }
};

CallCost cost_of(const OperatorSamples& of) {
  CallCost cost;
  for (const Part& part : kParts) {
    const std::vector<double> kept = without_outliers(of.*part.samples);
    if (kept.size() < 2) {
      continue;
    }
    const double mean = mean_of(kept);
    double squares = 0;
    for (const double value : kept) {
      squares += (value - mean) * (value - mean);
    }
    cost.mean += mean;
    cost.variance += squares / static_cast<double>(kept.size() - 1);
  }
  return cost;
}

/// Parts of others, once seen alone.
bool is_no_operator(const std::string& name) {
  constexpr std::array kNone{"detach", "record_param_comms", "aten::lift_fresh", "aten::resolve_"};
  return std::ranges::any_of(kNone, [&](const char* start) { return name.starts_with(start); });
}

class ProfileText {
 public:
  ProfileText(const HostSamples& samples, const HostProfileOptions& options)
      : samples_{samples}, options_{options}, start_{options.start.at_speed()} {}

  std::string text() {
    text_ = fmt::format(
        "name: {}\nsource: {}\n", quoted_if_needed(options_.name),
        quoted_if_needed(options_.traces + "; what an operator was never seen to do is as in fallback"));
    const double between =
        mean_time("between_operators", samples_.between_operators, start_.between_operators);
    mean_time("between_module_operators", samples_.between_module_operators, start_.between_modules());
    calls();
    gap("synchronize_return", samples_.synchronize_return, 0, start_.synchronize_return);
    const double event = kMicro * options_.event_cost.in_base_units();
    gap("backward_start", samples_.backward_start, event + between, start_.backward_start);
    gap("backward_return", samples_.backward_return, event + between, start_.backward_return);
    spread();
    operators();
    return text_ + "provenance:\n  speed: measured, 1 is this very CPU\n" + provenance_;
  }

  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  void measured(const std::string& key) {
    measured(key, options_.simulated ? options_.traces
                                     : fmt::format("{}, less {} for every traced event", options_.traces,
                                                   options_.event_cost));
  }
  void measured(const std::string& key, const std::string& source) {
    const std::string but = options_.simulated ? "; simulated by Lockstep: the host of its scenario"
                            : options_.observed
                                ? fmt::format("; recorded with {}, which made it longer: at most this",
                                              options_.observers.empty() ? "observers" : options_.observers)
                                : "";
    provenance_ +=
        fmt::format("  {}:\n    is: {}\n    source: {}\n", key, word(), quoted_if_needed(source + but));
  }
  /// The provenance of numbers that the traces show.
  [[nodiscard]] const char* word() const {
    return options_.observed || options_.simulated ? "derived" : "measured";
  }
  void taken_over(const std::string& key) {
    missing_.push_back(key);
    const std::string at_speed =
        options_.start.speed == 1 ? "" : fmt::format(" at its speed of {}", options_.start.speed);
    provenance_ += fmt::format("  {}: derived, {}'s{}\n", key, options_.start.name, at_speed);
  }

  /// @return what was written, us
  double time(const std::string& key, const std::vector<Seconds>& samples, double micros, Seconds instead) {
    const double written = samples.empty() ? kMicro * instead.in_base_units() : micros;
    samples.empty() ? taken_over(key) : measured(key);
    text_ += fmt::format("{}: {:.1f} us", key, written) +
             (samples.empty() ? "\n" : fmt::format("  # {} samples\n", samples.size()));
    return written;
  }

  /// All of it: the few long gaps are Python's modules and loops, and add up.
  double mean_time(const std::string& key, const std::vector<Seconds>& samples, Seconds instead) {
    return time(key, samples, samples.empty() ? 0 : mean_of(sorted_micros(samples)), instead);
  }

  void gap(const std::string& key, const std::vector<Seconds>& samples, double before, Seconds instead) {
    time(key, samples, samples.empty() ? 0 : std::max(0.0, median(samples) - before), instead);
  }

  void calls() {
    text_ += "runtime_calls:\n";
    for (const auto& [kind, name] : names_of(RuntimeCall{})) {
      const std::string key = fmt::format("runtime_calls.{}", name);
      const bool is_collective = kind == RuntimeCall::LaunchCollective;
      const auto found = samples_.calls.find(is_collective ? RuntimeCall::LaunchKernel : kind);
      const bool is_of_allocator = kind == RuntimeCall::Malloc || kind == RuntimeCall::Free;
      if (is_of_allocator && !start_.runtime_calls.contains(kind)) {
        continue;  // a step in which all comes from PyTorch's cache shows none
      }
      const Seconds length =
          found == samples_.calls.end()
              ? start_.duration_of(kind)
              : std::max(kShortestCall, Seconds{median(found->second) / kMicro} - options_.call_cost);
      text_ += fmt::format("  {}: {:.1f} us", name, kMicro * length.in_base_units());
      text_ += found == samples_.calls.end() || is_collective
                   ? "\n"
                   : fmt::format("  # {} samples\n", found->second.size());
      if (found == samples_.calls.end()) {
        taken_over(key);
      } else if (is_collective) {
        provenance_ += fmt::format("  {}: derived, as launch_kernel\n", key);
      } else {
        const std::string less =
            options_.simulated ? "" : fmt::format(", less {} for every call", options_.call_cost);
        measured(key, fmt::format("{}{}, at least 0.5 us", options_.traces, less));
      }
    }
  }

  void spread() {
    double squares = 0, variances = 0;
    for (const auto& [name, of] : samples_.operators) {
      if (!is_no_operator(name)) {
        const CallCost cost = cost_of(of);
        const auto calls = static_cast<double>(of.most());
        squares += calls * cost.mean * cost.mean;
        variances += calls * cost.variance;
      }
    }
    if (variances > 0) {
      text_ += fmt::format("spread: {:.2f}\n", std::min(1.0, std::sqrt(variances / squares)));
      measured("spread");
    }
  }

  void operators() {
    const std::array<double, kParts.size()> usual = usual_parts();
    text_ +=
        fmt::format("fallback: {{{}}}\noperators:  # parts that were never seen are those of the fallback\n",
                    parts_of({}, usual));
    for (const auto& [name, of] : samples_.operators) {
      if (!is_no_operator(name)) {
        const double spread = cost_of(of).spread();
        text_ += fmt::format("  {}: {{{}{}}}  # {} samples\n", quoted_if_needed(name), parts_of(of, usual),
                             spread > 0 ? fmt::format(", spread: {:.2f}", spread) : "", of.most());
      }
    }
    measured("operators");
    for (const auto& [name, of] : samples_.operators) {
      if (!is_no_operator(name)) {
        provenance_of_parts(name, of);
      }
    }
    provenance_ += "  fallback: guessed, the median operator of the traces for one that was never seen\n";
  }

  /// Parts of the median operator, us; the start's where no operator has any.
  std::array<double, kParts.size()> usual_parts() {
    std::array<double, kParts.size()> usual{};
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      std::vector<Seconds> pooled;
      for (const auto& [name, of] : samples_.operators) {
        std::ranges::copy(of.*kParts[i].samples, std::back_inserter(pooled));
      }
      if (pooled.empty()) {
        taken_over(fmt::format("fallback.{}", kParts[i].key));
      }
      usual[i] =
          pooled.empty() ? kMicro * (start_.fallback.*kParts[i].overhead).in_base_units() : median(pooled);
    }
    return usual;
  }

  /// Adds provenance for an operator's parts that were never seen: the block's word does not hold for them.
  void provenance_of_parts(const std::string& name, const OperatorSamples& of) {
    std::vector<std::string_view> seen, unseen;
    for (const Part& part : kParts) {
      ((of.*part.samples).empty() ? unseen : seen).emplace_back(part.key);
    }
    if (unseen.empty()) {
      return;
    }
    const std::string as_fallback =
        fmt::format("guessed, as fallback, since never seen: {}", fmt::join(unseen, ", "));
    const std::string text = seen.empty() ? as_fallback
                                          : fmt::format("{}, as all operators: {}; {}", word(),
                                                        fmt::join(seen, ", "), as_fallback);
    provenance_ += fmt::format("  {}: {}\n", quoted_if_needed("operators." + name), quoted_if_needed(text));
  }

  static std::string parts_of(const OperatorSamples& of, const std::array<double, kParts.size()>& usual) {
    std::string parts;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      const std::vector<Seconds>& samples = of.*kParts[i].samples;
      parts += fmt::format("{}{}: {:.1f} us", parts.empty() ? "" : ", ", kParts[i].key,
                           samples.empty() ? usual[i] : mean_without_outliers(samples));
    }
    return parts;
  }

  const HostSamples& samples_;
  const HostProfileOptions& options_;
  HostOverheads start_;  // of a CPU of speed 1, as the profile's
  std::string text_, provenance_;
  std::vector<std::string> missing_;
};

std::optional<double> slowdown(const HostSamples& samples, const HostOverheads& start) {
  std::vector<double> ratios;
  for (const auto& [name, of] : samples.operators) {
    const auto usual = start.operators.find(name);
    if (usual == start.operators.end() || of.before_first_launch.empty()) {
      continue;
    }
    const double before =
        kMicro * (usual->second.before_first_launch + usual->second.after_last_launch).in_base_units();
    if (before > 0) {
      ratios.push_back(
          (mean_without_outliers(of.before_first_launch) + mean_without_outliers(of.after_last_launch)) /
          before);
    }
  }
  std::ranges::sort(ratios);
  return ratios.empty() ? std::nullopt : std::optional{quantile(ratios, 0.5)};
}

/// @param slower how much longer operators take than the start's
std::vector<SlowCall> slow_calls(const HostSamples& samples, const HostOverheads& made,
                                 const HostOverheads& start, double slower) {
  constexpr double kSlow = 3;  // of real traces, relative to their operators, 1.0 is the most
  std::vector<SlowCall> calls;
  for (const auto& [kind, name] : names_of(RuntimeCall{})) {
    const bool is_of_allocator = kind == RuntimeCall::Malloc || kind == RuntimeCall::Free;
    if (is_of_allocator || !samples.calls.contains(kind)) continue;
    const double factor = made.duration_of(kind) / start.duration_of(kind);
    if (factor > kSlow * std::max(slower, 1.0))
      calls.push_back({fmt::format("runtime_calls.{}", name), factor});
  }
  std::ranges::stable_sort(calls, std::ranges::greater{}, &SlowCall::factor);
  return calls;
}

}  // namespace

HostProfile host_profile(const HostSamples& samples, const HostProfileOptions& options) {
  const bool launches = std::ranges::any_of(
      samples.operators, [](const auto& entry) { return !entry.second.before_first_launch.empty(); });
  if (!launches) {
    throw std::invalid_argument{
        "no operator of the traces launches anything: nothing to tell overheads from"};
  }
  ProfileText profile{samples, options};
  HostProfile made;
  made.text = profile.text();
  made.missing = profile.missing();
  made.slower = slowdown(samples, options.start.at_speed());
  made.overheads = read_text<HostOverheads>(made.text, options.name + ".yaml");
  made.slow_calls = slow_calls(samples, made.overheads, options.start.at_speed(), made.slower.value_or(1));
  return made;
}

}  // namespace lockstep
