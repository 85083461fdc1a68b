#include "base/citation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

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

}  // namespace lockstep
