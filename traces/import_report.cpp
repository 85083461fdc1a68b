#include "traces/import_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kLongestExample = 60;

}  // namespace

void ImportReport::add(const Oddity& oddity, std::string_view example, std::uint64_t count) {
  if (count == 0) {
    return;
  }
  const auto row = std::ranges::find_if(rows_, [&](const Row& r) { return r.oddity.kind == oddity.kind; });
  if (row != rows_.end()) {
    row->count += count;
    return;
  }
  rows_.push_back({oddity, count, std::string{example.substr(0, kLongestExample)}});
}

std::uint64_t ImportReport::count_of(std::string_view kind) const {
  const auto row = std::ranges::find_if(rows_, [&](const Row& r) { return r.oddity.kind == kind; });
  return row == rows_.end() ? 0 : row->count;
}

void ImportReport::merge(const ImportReport& other) {
  for (const Row& row : other.rows_) {
    add(row.oddity, row.example, row.count);
  }
}

std::string to_text(const ImportReport& report) {
  std::string text;
  for (const ImportReport::Row& row : report.rows()) {
    text += fmt::format("  {:<8} {:>9}  {}: {}", to_string(row.oddity.severity), row.count, row.oddity.kind,
                        row.oddity.meaning);
    text += row.example.empty() ? "\n" : fmt::format(" (e.g. {})\n", row.example);
  }
  return text;
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Guess:
      return "guess";
    case Severity::Warning:
      return "warning";
  }
  return "";
}

}  // namespace lockstep
