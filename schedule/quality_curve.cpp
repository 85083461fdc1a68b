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

}  // namespace lockstep
