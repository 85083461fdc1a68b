#pragma once

/// @file
/// What a reader found odd in a trace: counted, classified and explained, never silently dropped.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// How much an oddity matters for what is made of the trace.
enum class Severity : std::uint8_t {
  Note,     ///< as expected of such files; nothing is lost
  Guess,    ///< something was inferred that the file does not say
  Warning,  ///< something could not be used
};

/// One class of oddities.
struct Oddity {
  std::string_view kind;     ///< `orphan kernel`; a literal
  std::string_view meaning;  ///< what it is and what was done about it; a literal
  Severity severity = Severity::Note;
};

class ImportReport {
 public:
  struct Row {
    Oddity oddity;
    std::uint64_t count = 0;
    std::string example;  ///< the first one
  };

  void add(const Oddity& oddity, std::string_view example, std::uint64_t count = 1);
  /// In order of their first sighting.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::uint64_t count_of(std::string_view kind) const;
  void merge(const ImportReport& other);

 private:
  std::vector<Row> rows_;
};

/// A table: severity, count, kind, meaning, example; one row a line, indented by two.
[[nodiscard]] std::string to_text(const ImportReport& report);

[[nodiscard]] std::string_view to_string(Severity severity);

}  // namespace lockstep
