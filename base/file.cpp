#include "base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace fs = std::filesystem;

std::string sibling_meant(const fs::path& missing) {
  std::error_code ignored;
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path{"."};
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());  // the order of a folder is not the same on every machine
  const std::string closest = closest_word(missing.filename().string(), names);
  return closest.empty() ? "" : " - did you mean '" + closest + "'?";
}

std::string read_whole_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw InputError{{path.string()}, "no such file" + sibling_meant(path)};
  }
  if (fs::is_directory(path, ignored)) {
    throw InputError{{path.string()}, "is a folder; a file is expected"};
  }
  std::ifstream file{path, std::ios::binary};
  std::string content{std::istreambuf_iterator<char>{file}, {}};
  if (!file.good() && !file.eof()) {
    throw InputError{{path.string()}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  return content;
}

}  // namespace lockstep
