#include "app/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "calibration/band.hpp"
#include "ops/collectives/collective.hpp"
#include "ops/workload/batch_loader.hpp"
#include "ops/workload/parallel/host_optimizer.hpp"
#include "scenario/figures.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/trust.hpp"

namespace lockstep {
namespace {

constexpr double kNothing = 0.0005;  // of a step: rounds to 0.0 %
constexpr std::size_t kLines = 6;    // of each list: the answer fits one screen

double total_seconds(const SimulationResult& result) {
  return result.step_ends.back();
}

std::string bar(double share) {
  const auto length = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 30));
  return length == 0 ? "" : "  " + std::string(length, '#');
}

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string list_head(const std::string& title) {
  return fmt::format("\n{}\n", title);
}

constexpr double kOtherMean = 0.002;  // of a step: so far apart two means are told apart

std::string time_lines(const ResolvedScenario& resolved, const SimulationResult& result) {
  const std::size_t metered = result.metered.size(), ranks = resolved.job.ranks.size();
  const double whole = total_seconds(result) / static_cast<double>(resolved.job.steps);
  const double step = result.mean_step().in_base_units();
  const std::string of_ranks = metered == ranks ? fmt::format("{} rank{}", metered, metered == 1 ? "" : "s")
                                                : fmt::format("{} of {} ranks", metered, ranks);
  const std::string of_steps = std::abs(whole - step) <= kOtherMean * step
                                   ? ""
                                   : fmt::format("; of {} steps with the first, {} each", resolved.job.steps,
                                                 to_string(Seconds{whole}));
  std::string text = list_head(fmt::format("where the time went (GPU, mean of {}{})", of_ranks, of_steps));
  for (const TimeShare& share : time_shares(resolved, result)) {
    text += fmt::format("  {:<28}{:>12}  {:>5.1f} %{}\n", name_of(share), to_string(Seconds{share.seconds}),
                        100 * share.seconds / whole, bar(share.seconds / whole));
  }
  return text;
}

std::string path_lines(const ResolvedScenario& resolved, const SimulationResult& result) {
  if (result.critical_path.empty()) {
    return list_head("critical path: not recorded for a job of this size");
  }
  std::string text = list_head("critical path of the last step");
  double length = 0;
  for (const CriticalShare& share : result.critical_path) {
    length += share.seconds;
  }
  double rest = length;
  for (std::size_t i = 0; i < std::min(kLines, result.critical_path.size()); ++i) {
    const CriticalShare& share = result.critical_path[i];
    rest -= share.seconds;
    text += fmt::format("  {:<40}{:>12}  {:>5.1f} %  {} piece{}, {}{}\n", shortened(share.what, 39),
                        to_string(Seconds{share.seconds}), 100 * share.seconds / length, share.pieces,
                        share.pieces == 1 ? "" : "s", name_of(provenance_of(resolved, share)),
                        share.bottleneck.empty() ? "" : fmt::format(", bound by {}", share.bottleneck));
  }
  if (result.critical_path.size() > kLines) {
    text += fmt::format("  {:<40}{:>12}  {:>5.1f} %  {} more kinds\n", "the rest", to_string(Seconds{rest}),
                        100 * rest / length, result.critical_path.size() - kLines);
  }
  return text;
}

std::string link_lines(const ResolvedScenario& resolved, const SimulationResult& result) {
  const auto links = link_utilisation(resolved, result, 4);
  if (links.empty()) {
    return {};
  }
  std::string text = list_head("busiest links");
  for (const LinkUtilisation& link : links) {
    text += fmt::format("  {:<40}{:>12}  {:>5.1f} %  of its bandwidth\n",
                        shortened(resolved.fabric.name_of(link.link), 39),
                        to_string(Bytes{link.bytes_per_step}) + "/step", 100 * link.utilisation);
  }
  return text;
}

/// MFU, and the cost where a price is given.
std::string use_line(const Figures& figures) {
  std::string text;
  if (figures.mfu) {
    text += fmt::format("MFU          {:.1f} %  of the peak for the types of its matrix products\n",
                        100 * *figures.mfu);
  }
  if (figures.cost_per_million) {
    text += fmt::format("cost         {:.4g} for a million {}\n", *figures.cost_per_million,
                        figures.tokens_per_s ? "tokens" : "samples");
  }
  return text;
}

std::string gain_lines(const Sensitivity& sensitivity) {
  std::string text = list_head("what 10 % more would buy");
  for (const ResourceGain& gain : sensitivity) {
    text +=
        fmt::format("  {:<40}{:>12}  {}\n", gain.resource, to_string(Seconds{gain.step_time}),
                    std::abs(gain.gain) < kNothing ? "no difference"
                                                   : fmt::format("{:.1f} % {}", 100 * std::abs(gain.gain),
                                                                 gain.gain > 0 ? "less time" : "more time"));
  }
  return text;
}

std::string memory_text(const ResolvedScenario& resolved) {
  std::string text;
  if (const auto fullest = fullest_rank(resolved)) {
    text += list_head(fmt::format("memory of rank {}: {} of {}{}", fullest->rank,
                                  to_string(fullest->memory.total()), to_string(fullest->capacity),
                                  fullest->is_tight() ? " (tight)" : "")) +
            memory_lines(fullest->memory, fullest->capacity);
  }
  if (const auto fullest = fullest_host(resolved)) {
    const bool is_known = fullest->capacity > Bytes{0};
    text +=
        list_head(fmt::format("memory of {}: {}{}", host_name(*fullest), to_string(fullest->memory.total()),
                              is_known ? " of " + to_string(fullest->capacity) : "")) +
        memory_lines(fullest->memory, fullest->capacity);
  }
  return text;
}

std::string gpu_names(const ResolvedScenario& resolved) {
  std::string names;
  for (const GpuSpec& gpu : resolved.gpu_models) {
    names += (names.empty() ? "" : ", ") + gpu.name;
    if (const Provenance provenance = provenance_of(gpu); !is_own(provenance)) {
      names += fmt::format(" ({})", name_of(provenance));
    }
  }
  return names;
}

/// Names the default host where the scenario has none, and GPUs whose kernels are not what their files say.
std::string machine_remarks(const ResolvedScenario& resolved) {
  std::string text;
  if (!resolved.scenario.host && !resolved.scenario.trace) {
    text += fmt::format("  host {} stands in ({})\n", resolved.host.name,
                        name_of(evidence_for(resolved.host.provenance, "operators").is));
  }
  if (resolved.placement.leaves_gpus()) {
    text += fmt::format("  {} ranks on each node, which has {} GPUs\n", resolved.placement.per_node,
                        resolved.placement.gpus_of_node);
  }
  const TransformerPlanSpec& plan = resolved.scenario.parallelism.transformer;
  if (plan.offload != Offload::None && !plan.offload_threads && resolved.job.ranks.size() > 1) {
    text +=
        "  the optimizer on the host has a thread on each core; torchrun's ranks have one unless "
        "OMP_NUM_THREADS says more: 'offload_threads: 1'\n";
  }
  for (const GpuSpec& gpu : resolved.gpu_models) {
    if (!gpu.lent_because.empty()) {
      text += fmt::format("  {} is derived, since {}\n", gpu.name, gpu.lent_because);
    } else if (!gpu.silent_because.empty()) {
      text += fmt::format("  {}'s networks do not answer, since {}\n", gpu.name, gpu.silent_because);
    }
  }
  return text;
}

/// The meaning of a share of the step, as the beginning of a sentence.
std::string verdict(const TimeShare& share, double percent) {
  switch (share.part) {
    case TimePart::Compute:
      return fmt::format("compute-bound: kernels keep the GPU busy for {:.0f} % of the step", percent);
    case TimePart::HostIdle:
      return fmt::format("host-bound: the GPU waits for the CPU to launch work for {:.0f} % of the step",
                         percent);
    case TimePart::Done:
      return fmt::format(
          "imbalance: ranks have done their work and wait for the last ones for {:.0f} % of the step",
          percent);
    case TimePart::Waiting:
      return fmt::format("imbalance: ranks spend {:.0f} % of the step {} for slower ones", percent,
                         name_of(share));
    case TimePart::Copies:
      return fmt::format("copy-bound: copies between host and GPU take {:.0f} % of the step alone", percent);
    case TimePart::Exposed:
      break;
  }
  return fmt::format("communication-bound: {} takes {:.0f} % of the step", name_of(share), percent);
}

/// Shares of the critical path.
struct HostShares {
  double batches = 0;    ///< everything waits for a batch
  double optimizer = 0;  ///< Adam on the CPU
  double others = 0;     ///< the host's work but for batches
};

HostShares host_shares(const SimulationResult& result) {
  HostShares shares;
  double length = 0;
  for (const CriticalShare& share : result.critical_path) {
    length += share.seconds;
    if (share.part == PathPart::HostWork || share.part == PathPart::Silence) {
      const bool is_loader = share.operation == kPrepareBatch || share.operation == kDataLoading;
      (is_loader ? shares.batches : shares.others) += share.seconds;
      shares.optimizer += share.operation == kCpuAdam ? share.seconds : 0;
    }
  }
  return length > 0 ? HostShares{shares.batches / length, shares.optimizer / length, shares.others / length}
                    : HostShares{};
}

/// Shares of the critical path that move data between host and GPU, or over PCIe.
struct PcieShares {
  double copies = 0;
  double kernels = 0;      ///< that read or write tables in host memory, as fast as the links allow
  double collectives = 0;  ///< bound by PCIe
  [[nodiscard]] double to_host() const { return copies + kernels; }
};

PcieShares pcie_shares(const SimulationResult& result) {
  PcieShares shares;
  double length = 0;
  for (const CriticalShare& share : result.critical_path) {
    length += share.seconds;
    double& sum = share.part == PathPart::Copy         ? shares.copies
                  : share.part == PathPart::Collective ? shares.collectives
                                                       : shares.kernels;
    sum += share.over_pcie;
  }
  return length > 0 ? PcieShares{shares.copies / length, shares.kernels / length, shares.collectives / length}
                    : PcieShares{};
}

/// Empty: less than half of the critical path. Kernels that run beside transfers keep the GPU busy and pace
/// nothing, and those that read host memory look busy while they wait for it.
std::string pcie_verdict(const PcieShares& path, const TimeShare& largest, double whole) {
  const double with_collectives = largest.part == TimePart::Compute ? path.to_host() + path.collectives : 0;
  if (std::max(path.to_host(), with_collectives) <= 0.5) {
    return {};
  }
  const std::string rest = fmt::format("{} takes {:.0f} % of the step",
                                       largest.part == TimePart::Copies ? "copying alone" : name_of(largest),
                                       100 * largest.seconds / whole);
  if (path.to_host() <= 0.5) {
    return fmt::format(
        "PCIe-bound: {:.0f} % of the critical path is what crosses PCIe, {:.0f} % collectives; {}",
        100 * with_collectives, 100 * path.collectives, rest);
  }
  const char* const what = path.copies > 0.5 ? "copies between host and GPU"
                           : path.kernels > 0.5
                               ? "kernels that read and write tables in host memory"
                               : "copies between host and GPU, and kernels that reach for tables there";
  const double share = path.copies > 0.5 ? path.copies : path.kernels > 0.5 ? path.kernels : path.to_host();
  return fmt::format("copy-bound: {:.0f} % of the critical path is {}; {}", 100 * share, what, rest);
}

}  // namespace

std::string bottleneck(const ResolvedScenario& resolved, const SimulationResult& result) {
  constexpr double kWorthNaming = 20;  // percent
  auto shares = time_shares(resolved, result);
  std::ranges::stable_sort(shares, std::ranges::greater{}, &TimeShare::seconds);
  const double whole = total_seconds(result) / static_cast<double>(resolved.job.steps);
  const HostShares host = host_shares(result);
  if (host.batches > 0.5) {
    return fmt::format("input-bound: the step waits for its batch, which takes {:.0f} % of the critical path",
                       100 * host.batches);
  }
  if (const std::string verdict = pcie_verdict(pcie_shares(result), shares.front(), whole);
      !verdict.empty()) {
    return verdict;
  }
  const bool waits_for_host = shares.front().part == TimePart::HostIdle || host.others > 0.5;
  if (waits_for_host && host.optimizer > host.others / 2) {
    return fmt::format(
        "host-bound: Adam on the CPU is {:.0f} % of the critical path; {} takes {:.0f} % of the step",
        100 * host.optimizer, name_of(shares.front()), 100 * shares.front().seconds / whole);
  }
  if (host.others > 0.5 && shares.front().part != TimePart::HostIdle) {  // kernels run while it goes on
    return fmt::format(
        "host-bound: {:.0f} % of the critical path is work of the CPU; {} takes {:.0f} % of the step",
        100 * host.others, name_of(shares.front()), 100 * shares.front().seconds / whole);
  }
  std::string sentence = verdict(shares.front(), 100 * shares.front().seconds / whole);
  if (shares.size() > 1 && 100 * shares[1].seconds / whole >= kWorthNaming) {
    sentence += fmt::format("; next, {} with {:.0f} %", name_of(shares[1]), 100 * shares[1].seconds / whole);
  }
  return sentence;
}

std::string name_of(const TimeShare& share) {
  switch (share.part) {
    case TimePart::Compute:
      return "compute";
    case TimePart::Exposed:
      return "exposed " + std::string{to_string(share.collective)};
    case TimePart::Waiting:
      return "waiting in " + std::string{to_string(share.collective)};
    case TimePart::Copies:
      return "copies";
    case TimePart::Done:
      return "done before others";
    case TimePart::HostIdle:
      break;
  }
  return "host-bound idle";
}

std::string plural(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string trust_lines(const StepBand& band) {
  constexpr std::size_t kFamilies = 4;  // named in a line
  std::string text = "\nwhat it rests on\n";
  for (const auto& [provenance, name] : names_of(Provenance{})) {
    const auto number = static_cast<std::size_t>(provenance);
    const double seconds = band.by_provenance[number];
    if (seconds <= 0) {
      continue;
    }
    std::vector<FamilyBand> families = band.families;
    std::erase_if(families, [&](const FamilyBand& family) { return family.by_provenance[number] <= 0; });
    std::ranges::stable_sort(families, std::ranges::greater{},
                             [&](const FamilyBand& family) { return family.by_provenance[number]; });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kFamilies, families.size()); ++i) {
      names.push_back(families[i].family);
    }
    text += fmt::format("  {:<40}{:>12}  {:>5.1f} %  {}{}\n", name, to_string(Seconds{seconds}),
                        100 * seconds / band.seconds, fmt::join(names, ", "),
                        families.size() > kFamilies ? ", ..." : "");
  }
  return text;
}

namespace {

/// The first lines of a report: what ran, and how long it takes.
std::string headline(const ResolvedScenario& resolved, const SimulationResult& result, const StepBand& band) {
  const Figures figures = figures_of(resolved, result);
  const Seconds step = result.mean_step();
  const std::string ranks = plural(resolved.job.ranks.size(), "rank") + " on " + gpu_names(resolved);
  if (const auto& trace = resolved.scenario.trace) {
    return fmt::format("  {}, {} of trace {}\n{}\nrun time     {}{}\n", ranks,
                       plural(static_cast<std::size_t>(resolved.job.steps), "run"), trace->chakra,
                       machine_remarks(resolved), step,
                       around(band).slower >= 0.005 ? fmt::format("  ({})", in_words(around(band))) : "");
  }
  const auto batch = resolved.scenario.workload->global_batch;
  return fmt::format("  {}, {} steps of {} samples\n{}\n", ranks, resolved.job.steps, batch,
                     machine_remarks(resolved)) +
         fmt::format("step time    {}  ({}), {:.4g} samples/s\n", step, in_words(around(band)),
                     *figures.samples_per_s);
}

}  // namespace

std::string report(const ResolvedScenario& resolved, const SimulationResult& result,
                   const Sensitivity& sensitivity) {
  const Figures figures = figures_of(resolved, result);
  const StepBand band = step_band(resolved, result);
  std::string text = resolved.scenario.name + "\n" + headline(resolved, result, band);
  text += use_line(figures);
  text += fmt::format("bottleneck   {}\n", bottleneck(resolved, result));
  return text + time_lines(resolved, result) + path_lines(resolved, result) + trust_lines(band) +
         link_lines(resolved, result) + (sensitivity.empty() ? "" : gain_lines(sensitivity)) +
         memory_text(resolved);
}

}  // namespace lockstep
