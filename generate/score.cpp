#include "generate/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::generate {
namespace {

constexpr double kMilli = 1e3, kMicro = 1e6;

double percent_off(double value, double of) {
  return of > 0 ? 100 * (value / of - 1) : 0;
}

}  // namespace

MeasuredRank read_measured(const std::filesystem::path& file) {
  const std::string text = read_whole_file(file);
  try {
    const auto json = nlohmann::json::parse(text);
    MeasuredRank made;
    made.rank = json.at("rank").get<std::uint32_t>();
    made.gpu = json.at("gpu").get<std::string>();
    made.step = json.at("step_s").get<double>();
    made.low = json.at("step_low_s").get<double>();
    made.high = json.at("step_high_s").get<double>();
    made.host_late = json.value("host_late_s", 0.0);
    made.launch = json.value("launch_s", 0.0);
    for (const auto& [name, family] : json.at("families").items()) {
      made.families[name] = {family.at("seconds").get<double>(), family.at("expected").get<double>()};
    }
    made.kernels = json.at("kernels_s").get<std::vector<double>>();
    return made;
  } catch (const nlohmann::json::exception& problem) {
    throw InputError{{file.string()},
                     fmt::format("no program of 'lockstep generate' measured this: {}", problem.what())};
  }
}

std::vector<MeasuredRank> read_all_measured(const std::filesystem::path& place) {
  std::vector<MeasuredRank> made;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(place, ignored)) {
    made.push_back(read_measured(place));
    return made;
  }
  for (const auto& entry : std::filesystem::directory_iterator{place, ignored}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("measured.") && name.ends_with(".json")) {
      made.push_back(read_measured(entry.path()));
    }
  }
  if (made.empty()) {
    throw InputError{{place.string()},
                     "no measured.0.json, measured.1.json, ...: the program writes them when it runs"};
  }
  std::ranges::sort(made, {}, &MeasuredRank::rank);
  return made;
}

std::string score_text(const std::vector<MeasuredRank>& ranks, double expected_step) {
  std::string text = fmt::format("{:<6} {:<26} {:>11} {:>21} {:>11} {:>8} {:>10}\n", "rank", "GPU",
                                 "step, ms", "95 % interval", "expected", "off by", "launch, us");
  std::map<std::string, MeasuredRank::Family> families;
  double late = 0;
  for (const MeasuredRank& rank : ranks) {
    text += fmt::format("{:<6} {:<26} {:>11.3f} {:>21} {:>11.3f} {:>7.1f}% {:>10.2f}\n", rank.rank, rank.gpu,
                        kMilli * rank.step,
                        fmt::format("{:.3f} to {:.3f}", kMilli * rank.low, kMilli * rank.high),
                        kMilli * expected_step, percent_off(rank.step, expected_step), kMicro * rank.launch);
    late = std::max(late, rank.host_late);
    for (const auto& [name, family] : rank.families) {
      families[name].measured += family.measured;
      families[name].expected += family.expected;
    }
  }
  std::vector<std::pair<std::string, MeasuredRank::Family>> sorted{families.begin(), families.end()};
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& family) { return family.second.expected; });
  text += fmt::format("\n{:<33} {:>11} {:>11} {:>8}\n", "kernels alone, ms a step", "measured", "expected",
                      "off by");
  for (const auto& [name, family] : sorted) {
    text += fmt::format("{:<33} {:>11.3f} {:>11.3f} {:>7.1f}%\n", name, kMilli * family.measured,
                        kMilli * family.expected, percent_off(family.measured, family.expected));
  }
  if (late > 0) {
    text +=
        fmt::format("\ncalls of the host took {:.3f} ms a step more than the source says\n", kMilli * late);
  }
  return text;
}

}  // namespace lockstep::generate
