#include "schedule/quality_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/suggest.hpp"
#include "calibration/csv_table.hpp"

namespace lockstep {

std::vector<std::string> quality_of_phases(const std::filesystem::path& file,
                                           const std::vector<std::string>& phases, const SourceLocation& at) {
  const CsvTable table = CsvTable::from_file(file);
  std::map<std::string, std::string> by_phase;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& phase = table.cell(row, "phase");
    if (std::ranges::find(phases, phase) == phases.end()) {
      table.complain(row,
                     fmt::format("the schedule has no phase '{}'{}", phase, did_you_mean(phase, phases)));
    }
    by_phase[phase] = table.cell(row, "quality");
  }
  std::vector<std::string> quality;
  for (const std::string& phase : phases) {
    const auto found = by_phase.find(phase);
    if (found == by_phase.end()) {
      throw InputError{at, fmt::format("quality: {} says nothing of the phase '{}': it needs a line for each",
                                       file.string(), phase)};
    }
    quality.push_back(found->second);
  }
  return quality;
}

namespace {

double quality_at(const CsvTable& curve, double share, const SourceLocation& at, const std::string& file) {
  constexpr double kRounding = 1e-9;
  for (std::size_t row = 0; row < curve.rows(); ++row) {
    const double here = curve.number(row, "share"), quality = curve.number(row, "quality");
    const double before = row > 0 ? curve.number(row - 1, "share") : here;
    if (row > 0 && here <= before) {
      curve.complain(row, "shares grow from line to line");
    }
    if (share <= here + kRounding && share >= before - kRounding) {
      const double old = row > 0 ? curve.number(row - 1, "quality") : quality;
      return here > before ? old + (quality - old) * (share - before) / (here - before) : quality;
    }
  }
  throw InputError{at,
                   fmt::format("quality_by_share: {} says nothing of a share of {:g}: it needs lines for the "
                               "smallest and the largest that are tried, and 1",
                               file, share)};
}

}  // namespace

std::vector<double> quality_of_shares(const std::filesystem::path& file, const std::vector<double>& shares,
                                      const SourceLocation& at) {
  const CsvTable curve = CsvTable::from_file(file);
  std::vector<double> quality;
  for (const double share : shares) {
    quality.push_back(quality_at(curve, share, at, file.string()));
  }
  return quality;
}

std::filesystem::path file_beside(const YamlDocument& document, const SourceLocation& at,
                                  const std::string& name) {
  const auto folder =
      document.covers(at.file) ? std::filesystem::path{at.file}.parent_path() : std::filesystem::path{};
  return folder / name;
}

}  // namespace lockstep
