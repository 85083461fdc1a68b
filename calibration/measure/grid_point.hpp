#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// The point of one row of measurements: named values, in the order of the family's parameter columns.
class GridPoint {
 public:
  /// @throws std::logic_error for a name or value that a CSV cell cannot hold as it is (comma, quote, line
  /// end)
  GridPoint& set(const std::string& name, const std::string& value);
  GridPoint& set(const std::string& name, std::int64_t value);

  /// @throws std::logic_error for a name that was not set
  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// @throws std::logic_error for a name that was not set, or a value that is no integer
  [[nodiscard]] std::int64_t integer(const std::string& name) const;

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

  /// The values with commas between them: the beginning of the row, and what tells rows apart.
  [[nodiscard]] std::string key() const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace lockstep
