#include "app/replay_kernels_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using replay::FamilyComparison;

constexpr double kInMilli = 1e3, kInMicro = 1e6;
constexpr std::size_t kMostUnmodelled = 6;
constexpr std::size_t kLongestName = 70;

std::string family_row(const FamilyComparison& family, double whole) {
  const std::string mean =
      family.compared > 0 ? fmt::format("{:.1f} % of {}", 100 * family.geometric_mean, family.compared) : "-";
  const std::string alone =
      family.alone_recorded > 0
          ? fmt::format("{:+.1f} %", 100 * (family.alone_predicted / family.alone_recorded - 1))
          : "-";
  return fmt::format("  {:<34}{:>8}{:>12.3f}{:>12.3f}{:>+9.1f} %{:>11}{:>20}{:>9.1f} %\n", family.family,
                     family.kernels, kInMilli * family.recorded, kInMilli * family.predicted,
                     100 * (family.predicted / family.recorded - 1), alone, mean,
                     100 * family.recorded / whole);
}

double recorded_of_rest(const replay::KernelComparison& kernels) {
  double recorded = 0;
  for (const replay::UnmodelledKernels& rest : kernels.unmodelled) {
    recorded += rest.recorded;
  }
  return recorded;
}

std::string rest_table(const replay::KernelComparison& kernels, bool in_full) {
  const std::size_t shown =
      in_full ? kernels.unmodelled.size() : std::min(kMostUnmodelled, kernels.unmodelled.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const replay::UnmodelledKernels& rest = kernels.unmodelled[i];
    text += fmt::format("    {:<72}{:>6}{:>12.3f}{:>7.1f} %\n", rest.name.substr(0, kLongestName),
                        rest.kernels, kInMilli * rest.recorded, 100 * rest.recorded / kernels.recorded);
  }
  const std::size_t hidden = kernels.unmodelled.size() - shown;
  return hidden == 0 ? text : text + fmt::format("    and {} more names (--full)\n", hidden);
}

}  // namespace

std::string kernels_table(const replay::KernelComparison& kernels, const std::string& gpu, bool in_full) {
  std::string text = fmt::format(
      "\nkernels predicted on {} from their shapes (ms, sums over all ranks)\n  "
      "{:<34}{:>8}{:>12}{:>12}{:>11}{:>11}{:>20}"
      "{:>11}\n",
      gpu, "", "kernels", "recorded", "predicted", "total", "alone", "one (geo. mean)", "share");
  if (!(kernels.recorded > 0)) {
    return text + "  the traces hold no kernels\n";
  }
  for (const FamilyComparison& family : kernels.families) {
    text += family_row(family, kernels.recorded);
  }
  if (!kernels.families.empty()) {
    text += family_row(kernels.modelled(), kernels.recorded);
  }
  if (kernels.profiler > 0) {
    text += fmt::format(
        "  predicted times have {:.2f} us for each kernel that the profiler adds: the median of {} kernels "
        "as "
        "small as any\n",
        kInMicro * kernels.profiler, kernels.smallest);
  }
  const FamilyComparison all = kernels.modelled();
  if (all.alone_recorded < all.recorded) {
    text += "  alone: kernels beside which the rank did not communicate; the others lack its SMs\n";
  }
  if (!kernels.unmodelled.empty()) {
    const double rest = recorded_of_rest(kernels);
    text += fmt::format(
        "  no model or no shapes: {:.3f} ms, {:.1f} %, {}\n", kInMilli * rest, 100 * rest / kernels.recorded,
        kernels.unmodelled_factor == 1 ? "as recorded"
                                       : fmt::format("times {:.3f}: the ratio of memory bandwidths, a guess",
                                                     kernels.unmodelled_factor));
    text += rest_table(kernels, in_full);
  }
  return text;
}

std::string kernels_json(const replay::KernelComparison& kernels, const std::string& gpu) {
  nlohmann::json made{{"gpu", gpu},
                      {"recorded", kernels.recorded},
                      {"profiler", kernels.profiler},
                      {"unmodelled_factor", kernels.unmodelled_factor},
                      {"families", nlohmann::json::array()},
                      {"unmodelled", nlohmann::json::array()}};
  for (const FamilyComparison& family : kernels.families) {
    made["families"].push_back({{"family", family.family},
                                {"kernels", family.kernels},
                                {"recorded", family.recorded},
                                {"predicted", family.predicted},
                                {"recorded_alone", family.alone_recorded},
                                {"predicted_alone", family.alone_predicted},
                                {"compared", family.compared},
                                {"geometric_mean_error", family.geometric_mean}});
  }
  for (const replay::UnmodelledKernels& rest : kernels.unmodelled) {
    made["unmodelled"].push_back(
        {{"name", rest.name}, {"kernels", rest.kernels}, {"recorded", rest.recorded}});
  }
  return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lockstep
