#include "traces/nsys/database.hpp"

#include <sqlite3.h>

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::nsys {
namespace {

sqlite3* connection(const std::shared_ptr<void>& handle) {
  return static_cast<sqlite3*>(handle.get());
}

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

}  // namespace

std::int64_t Row::number(int column) const {
  return sqlite3_column_int64(static_cast<sqlite3_stmt*>(statement_), column);
}

bool Row::is_null(int column) const {
  return sqlite3_column_type(static_cast<sqlite3_stmt*>(statement_), column) == SQLITE_NULL;
}

std::string Row::text(int column) const {
  auto* statement = static_cast<sqlite3_stmt*>(statement_);
  const unsigned char* bytes = sqlite3_column_text(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return bytes == nullptr ? "" : std::string(bytes, bytes + size);
}

Database::Database(std::string file) : file_{std::move(file)} {
  remember_input(file_);
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(file_.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  handle_ = std::shared_ptr<void>{opened, [](void* handle) { sqlite3_close(static_cast<sqlite3*>(handle)); }};
  if (result != SQLITE_OK) {
    throw InputError{{file_}, std::string{"cannot be opened as a database: "} + sqlite3_errstr(result)};
  }
}

bool Database::has_table(const std::string& name) const {
  sqlite3_stmt* made = nullptr;
  const int result = sqlite3_prepare_v2(connection(handle_), "SELECT 1 FROM sqlite_master WHERE name = ?1",
                                        -1, &made, nullptr);
  const Statement statement{made, sqlite3_finalize};
  if (result != SQLITE_OK) {
    return false;
  }
  sqlite3_bind_text(made, 1, name.c_str(), static_cast<int>(name.size()), nullptr);
  return sqlite3_step(made) == SQLITE_ROW;
}

std::set<std::string> Database::columns(const std::string& table) const {
  std::set<std::string> names;
  each("SELECT name FROM pragma_table_info('" + table + "')",
       [&](const Row& row) { names.insert(row.text(0)); });
  return names;
}

void Database::each(const std::string& query, const std::function<void(const Row&)>& take) const {
  sqlite3_stmt* made = nullptr;
  int result = sqlite3_prepare_v2(connection(handle_), query.c_str(), -1, &made, nullptr);
  const Statement statement{made, sqlite3_finalize};
  while (result == SQLITE_OK || result == SQLITE_ROW) {
    result = sqlite3_step(made);
    if (result == SQLITE_ROW) {
      take(Row{made});
    }
  }
  if (result != SQLITE_DONE) {
    throw InputError{{file_},
                     std::string{"the database cannot be read: "} + sqlite3_errmsg(connection(handle_))};
  }
}

}  // namespace lockstep::nsys
