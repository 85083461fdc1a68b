#include "base/citation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <system_error>

#include "base/error.hpp"

namespace lockstep {
namespace fs = std::filesystem;

std::vector<std::string> told_apart(const std::vector<fs::path>& files) {
  std::map<std::string, std::size_t> named;
  for (const fs::path& file : files) {
    ++named[file.filename().string()];
  }
  std::vector<std::string> names;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    names.push_back(named[name] == 1 ? name : file.string());
  }
  return names;
}

std::string cited(const std::vector<fs::path>& files) {
  constexpr std::size_t kMostNames = 8;
  if (files.size() <= kMostNames) {
    return fmt::format("{}", fmt::join(told_apart(files), ", "));
  }
  std::map<std::string, std::size_t> patterns;
  for (const fs::path& file : files) {
    ++patterns[(file.parent_path() / ("*" + file.extension().string())).string()];
  }
  std::vector<std::string> texts;
  for (const auto& [pattern, count] : patterns) {
    texts.push_back(fmt::format("{} ({} file{})", pattern, count, count == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void refuse_twice(const std::vector<std::filesystem::path>& files) {
  std::error_code ignored;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (std::filesystem::equivalent(files[i], files[other], ignored)) {
        throw InputError{{files[i].string()},
                         fmt::format("is given twice{}: its measurements would count twice",
                                     files[i] == files[other] ? "" : ", also as " + files[other].string())};
      }
    }
  }
}

}  // namespace lockstep
