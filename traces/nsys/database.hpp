#pragma once

/// @file
/// SQLite, as much of it as exports of profilers need.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace lockstep::nsys {

/// A row that a query found; columns count from 0.
class Row {
 public:
  explicit Row(void* statement) : statement_{statement} {}
  [[nodiscard]] std::int64_t number(int column) const;  ///< 0 where it is null
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::string text(int column) const;  ///< "" where it is null

 private:
  void* statement_;  // sqlite3_stmt
};

/// A database, open for reading.
class Database {
 public:
  /// @throws InputError when it cannot be opened
  explicit Database(std::string file);

  /// Whether it has a table of this name; false for what is no database.
  [[nodiscard]] bool has_table(const std::string& name) const;
  [[nodiscard]] std::set<std::string> columns(const std::string& table) const;
  [[nodiscard]] const std::string& file() const { return file_; }

  /// Hands over each row of a query. @throws InputError where the database is damaged
  void each(const std::string& query, const std::function<void(const Row&)>& take) const;

 private:
  std::string file_;
  std::shared_ptr<void> handle_;  // sqlite3
};

}  // namespace lockstep::nsys
