#include "app/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

using comparison::Amount;
using comparison::Amounts;
using Json = nlohmann::ordered_json;

/// The timeline in a folder of results. Files of ranks have as many digits as the run's last one needs.
std::filesystem::path timeline_in(const std::filesystem::path& folder, int rank) {
  const std::filesystem::path of_all = folder / "timeline.json.gz";
  if (std::filesystem::exists(of_all)) {
    return of_all;
  }
  constexpr int kMostDigits = 10;
  for (int digits = 1; digits <= kMostDigits; ++digits) {
    const std::filesystem::path of_rank = folder / fmt::format("timeline.rank{:0{}}.json.gz", rank, digits);
    if (std::filesystem::exists(of_rank)) {
      return of_rank;
    }
  }
  throw InputError{{folder.string()},
                   fmt::format("no results of lockstep run with a timeline: neither timeline.json.gz nor "
                               "timeline.rank{}.json.gz is in this folder",
                               rank)};
}

/// The critical path as metrics.json lists it, s of the last step; empty where there is none.
Amounts critical_path_in(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "metrics.json";
  Amounts path;
  if (!std::filesystem::exists(file)) {
    return path;
  }
  try {
    const nlohmann::json metrics = nlohmann::json::parse(read_whole_file(file));
    for (const auto& share : metrics.value("critical_path", nlohmann::json::array())) {
      Amount& amount = path[share.at("what").get<std::string>()];
      amount.seconds += share.at("seconds").get<double>();
      amount.count += share.at("pieces").get<double>();
    }
  } catch (const nlohmann::json::exception& problem) {
    throw InputError{{file.string()}, fmt::format("not what lockstep run writes: {}", problem.what())};
  }
  return path;
}

/// Rows by difference, the largest first; equal ones by name.
std::vector<ComparedRow> rows_of(const Amounts& a, const Amounts& b) {
  Amounts all = a;
  all.insert(b.begin(), b.end());
  std::vector<ComparedRow> rows;
  for (const auto& [what, amount] : all) {
    const auto in_a = a.find(what);
    const auto in_b = b.find(what);
    rows.push_back(
        {what, in_a == a.end() ? Amount{} : in_a->second, in_b == b.end() ? Amount{} : in_b->second});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow& x, const ComparedRow& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  return rows;
}

std::vector<ComparedRow> parts_of(const comparison::RunProfile& a, const comparison::RunProfile& b) {
  return {{"compute", {a.compute, 0}, {b.compute, 0}},
          {"exposed copies", {a.copies, 0}, {b.copies, 0}},
          {"exposed communication", {a.communication, 0}, {b.communication, 0}},
          {"idle", {a.idle, 0}, {b.idle, 0}}};
}

std::string milliseconds(double seconds) {
  constexpr double kMilli = 1e3;
  const double value = seconds * kMilli;
  return std::abs(value) >= 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.3f}", value);
}

std::string signed_milliseconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + milliseconds(std::abs(seconds));
}

std::string cut_short(const std::string& name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

constexpr std::size_t kNameWidth = 48;

/// `+0.123 ms  +12.3 %`, or that one side has none of it.
std::string change_of(const ComparedRow& row) {
  const std::string difference = fmt::format("{:>10}", signed_milliseconds(row.difference()));
  if (row.a.seconds <= 0) {
    return difference + (row.b.seconds > 0 ? "  only in B" : "");
  }
  if (row.b.seconds <= 0) {
    return difference + "  only in A";
  }
  return difference + fmt::format("  {:+6.1f} %", 100 * row.difference() / row.a.seconds);
}

std::string count_of(const ComparedRow& row) {
  if (row.a.count == 0 && row.b.count == 0) {
    return "";
  }
  const bool alike = std::abs(row.a.count - row.b.count) < 0.05;
  return alike ? fmt::format("  {:.4g} x", row.a.count)
               : fmt::format("  {:.4g} x -> {:.4g} x", row.a.count, row.b.count);
}

std::string table(const std::string& title, const std::vector<ComparedRow>& rows, std::size_t most) {
  constexpr double kWorthALine = 0.5e-6;  // s: a table shows microseconds
  std::string text =
      fmt::format("\n{:<{}}{:>10}{:>10}{:>10}\n", title, kNameWidth + 2, "A, ms", "B, ms", "B - A");
  std::size_t shown = 0;
  std::size_t alike = 0;
  for (const ComparedRow& row : rows) {
    if (std::max(row.a.seconds, row.b.seconds) < kWorthALine) {
      continue;
    }
    if (shown == most) {
      ++alike;
      continue;
    }
    ++shown;
    text +=
        fmt::format("  {:<{}}{:>10}{:>10}{}{}\n", cut_short(row.what, kNameWidth - 1), kNameWidth,
                    milliseconds(row.a.seconds), milliseconds(row.b.seconds), change_of(row), count_of(row));
  }
  return text + (alike > 0 ? fmt::format("  ... {} more that differ less\n", alike) : "");
}

std::string difference_in_words(const Comparison& comparison) {
  const double a = comparison.a.profile.step;
  const double b = comparison.b.profile.step;
  const double difference = b - a;
  if (std::abs(difference) < 1e-9) {
    return "both steps take the same time\n";
  }
  const auto most = std::max_element(comparison.parts.begin(), comparison.parts.end(),
                                     [&](const ComparedRow& x, const ComparedRow& y) {
                                       return x.difference() / difference < y.difference() / difference;
                                     });
  return fmt::format("B is {} by {} ms ({:+.1f} %), most of all in {} ({} ms)\n",
                     difference > 0 ? "slower" : "faster", milliseconds(std::abs(difference)),
                     100 * difference / a, most->what, signed_milliseconds(most->difference()));
}

Json json_of_rows(const std::vector<ComparedRow>& rows) {
  Json list = Json::array();
  for (const ComparedRow& row : rows) {
    list.push_back({{"what", row.what},
                    {"a_s", row.a.seconds},
                    {"b_s", row.b.seconds},
                    {"difference_s", row.difference()},
                    {"a_count", row.a.count},
                    {"b_count", row.b.count}});
  }
  return list;
}

Json json_of_side(const ComparedRun& run) {
  return {{"given", run.given},           {"timeline", run.run.file},         {"steps", run.run.steps},
          {"left_out", run.run.left_out}, {"incomplete", run.run.incomplete}, {"step_s", run.profile.step}};
}

}  // namespace

ComparedRun compared_run(const std::string& given, int rank, const KernelFamilies& families) {
  ComparedRun result;
  result.given = given;
  const std::filesystem::path path{given};
  const bool is_folder = std::filesystem::is_directory(path);
  result.run = comparison::read_run((is_folder ? timeline_in(path, rank) : path).string(), rank, families);
  result.profile = comparison::profile_of(result.run);
  if (is_folder) {
    result.critical_path = critical_path_in(path);
  }
  return result;
}

Comparison compare(ComparedRun a, ComparedRun b) {
  Comparison made;
  made.parts = parts_of(a.profile, b.profile);
  made.families = rows_of(a.profile.families, b.profile.families);
  made.operators = rows_of(a.profile.operators, b.profile.operators);
  made.kernels = rows_of(a.profile.kernels, b.profile.kernels);
  if (!a.critical_path.empty() && !b.critical_path.empty()) {
    made.critical_path = rows_of(a.critical_path, b.critical_path);
  }
  made.a = std::move(a);
  made.b = std::move(b);
  return made;
}

std::string comparison_text(const Comparison& comparison, std::size_t most) {
  std::string text;
  for (const auto& [letter, side] : {std::pair{'A', &comparison.a}, std::pair{'B', &comparison.b}}) {
    text += fmt::format("{}  {}: step {} ms, mean of {}\n", letter, side->given,
                        milliseconds(side->profile.step), side->run.steps);
  }
  for (const ComparedRun* side : {&comparison.a, &comparison.b}) {
    if (side->run.left_out > 0) {
      text += fmt::format("{}: {} events left out: damaged, or GPU work whose time is missing or was lost\n",
                          side->run.file, side->run.left_out);
    }
    for (const std::string& step : side->run.incomplete) {
      text += fmt::format("{}: incomplete, and what is said of it is not to be trusted: {}\n", side->run.file,
                          step);
    }
  }
  text += difference_in_words(comparison);
  std::vector<ComparedRow> parts = comparison.parts;
  parts.push_back({"step", {comparison.a.profile.step, 0}, {comparison.b.profile.step, 0}});
  text += table("where the step went (one rank's GPU)", parts, parts.size());
  text += table("GPU time by kernel family", comparison.families, most);
  text += table("GPU time by operator", comparison.operators, most);
  text += table("GPU time by kernel", comparison.kernels, most);
  text += comparison.critical_path.empty()
              ? "\ncritical path: only of two result folders, whose metrics.json has it\n"
              : table("on the critical path of the last step", comparison.critical_path, most);
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  Json json;
  json["a"] = json_of_side(comparison.a);
  json["b"] = json_of_side(comparison.b);
  json["parts"] = json_of_rows(comparison.parts);
  json["families"] = json_of_rows(comparison.families);
  json["operators"] = json_of_rows(comparison.operators);
  json["kernels"] = json_of_rows(comparison.kernels);
  json["critical_path"] = json_of_rows(comparison.critical_path);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
