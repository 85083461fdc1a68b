#pragma once

/// @file
/// Which file of a folder a request means, and what is answered.

#include <filesystem>
#include <string>

namespace lockstep {

struct FileAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
};

/// Answers requests from one folder. Anything outside it is refused, through links too.
class StaticFiles {
 public:
  /// @throws InputError where @p folder is no folder
  explicit StaticFiles(const std::filesystem::path& folder);

  /// @param target of the request: a path from `/`, with `%XX`; what follows a `?` is ignored. A folder is
  ///     answered with its report.html, else with a list of what is in it.
  [[nodiscard]] FileAnswer answer(const std::string& target) const;

 private:
  std::filesystem::path root_;  // without links
};

}  // namespace lockstep
