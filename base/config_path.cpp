#include "base/config_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "base/suggest.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

constexpr const char* kScenarioFile = "scenario.yaml";

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::vector<fs::path> content(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    found.push_back(entry.path());
  }
  return found;
}

std::vector<std::string> sorted(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

ConfigPath ConfigPath::standard() {
  std::vector<fs::path> candidates;
  if (const char* home = std::getenv("LOCKSTEP_HOME"); home != nullptr && *home != '\0') {
    candidates = {fs::path{home}};
  } else {
    std::error_code ignored;
    if (const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
        !program.empty()) {
      candidates = {program / "../share/lockstep", program / ".."};
    }
    candidates.emplace_back(LOCKSTEP_SOURCE_DIR);
  }
  ConfigPath path{{}};
  for (const fs::path& candidate : candidates) {
    fs::path root = candidate.lexically_normal();
    root = root.has_filename() ? root : root.parent_path();  // no slash at its end
    if (std::ranges::find(path.looked_in_, root) != path.looked_in_.end()) {
      continue;
    }
    path.looked_in_.push_back(root);
    if (is_folder(root / "configs") || is_folder(root / "scenarios")) {
      path.roots_.push_back(root);
    }
  }
  return path;
}

std::string ConfigPath::missing_roots() const {
  if (!roots_.empty() || looked_in_.empty()) {
    return {};
  }
  std::string text =
      ": the files that ship with lockstep are missing; folders configs and scenarios were looked for in";
  for (const fs::path& folder : looked_in_) {
    text += (folder == looked_in_.front() ? " " : ", ") + folder.string();
  }
  return text + " (LOCKSTEP_HOME names another place)";
}

ConfigPath ConfigPath::beside(const fs::path& folder) const {
  ConfigPath path = *this;
  path.beside_.insert(path.beside_.begin(), folder.empty() ? fs::path{"."} : folder);
  return path;
}

std::vector<fs::path> ConfigPath::folders_of(const std::string& kind) const {
  std::vector<fs::path> folders;
  for (const fs::path& folder : beside_) {
    folders.push_back(folder / kind);
  }
  for (const fs::path& root : roots_) {
    folders.push_back(root / "configs" / kind);
  }
  return folders;
}

fs::path ConfigPath::find(const std::string& kind, const std::string& name) const {
  for (const fs::path& folder : folders_of(kind)) {
    const fs::path file = (folder / (name + ".yaml")).lexically_normal();
    if (is_file(file)) {
      return file;
    }
  }
  const std::vector<std::string> known = names(kind);
  throw std::invalid_argument{"there is no '" + name + "' in configs/" + kind +
                              (known.empty() && roots_.empty() ? missing_roots()
                               : known.empty()                 ? ", which holds nothing"
                                                               : did_you_mean(name, known))};
}

fs::path ConfigPath::find_or_file(const std::string& kind, const std::string& name_or_path) const {
  return is_path(name_or_path) ? fs::path{name_or_path} : find(kind, name_or_path);
}

std::optional<fs::path> ConfigPath::find_part(const fs::path& relative) const {
  for (const fs::path& root : roots_) {
    const fs::path file = (root / "configs" / relative).lexically_normal();
    if (is_file(file)) {
      return file;
    }
  }
  return std::nullopt;
}

fs::path ConfigPath::find_scenario(const std::string& name_or_path) const {
  const fs::path given{name_or_path};
  if (is_file(given)) {
    return given;
  }
  if (is_file(given / kScenarioFile)) {
    return given / kScenarioFile;
  }
  for (const fs::path& root : roots_) {
    const fs::path file = root / "scenarios" / name_or_path / kScenarioFile;
    if (is_file(file)) {
      return file;
    }
  }
  throw std::invalid_argument{"there is no scenario '" + name_or_path +
                              "', neither a file nor a shipped one" +
                              (roots_.empty() ? missing_roots() : did_you_mean(name_or_path, scenarios()))};
}

std::string ConfigPath::shown(const std::string& file) const {
  for (const fs::path& root : roots_) {
    const std::string prefix = (root / "").lexically_normal().string();
    if (file.starts_with(prefix) && file.size() > prefix.size()) {
      return file.substr(prefix.size());
    }
  }
  return file;
}

std::vector<std::string> ConfigPath::kinds() const {
  std::set<std::string> kinds;
  for (const fs::path& root : roots_) {
    for (const fs::path& folder : content(root / "configs")) {
      if (is_folder(folder)) {
        kinds.insert(folder.filename().string());
      }
    }
  }
  return sorted(kinds);
}

std::vector<std::string> ConfigPath::names(const std::string& kind) const {
  std::set<std::string> names;
  for (const fs::path& folder : folders_of(kind)) {
    for (const fs::path& file : content(folder)) {
      if (file.extension() == ".yaml") {
        names.insert(file.stem().string());
      }
    }
  }
  return sorted(names);
}

std::vector<std::string> ConfigPath::scenarios() const {
  std::set<std::string> names;
  for (const fs::path& root : roots_) {
    for (const fs::path& folder : content(root / "scenarios")) {
      if (is_file(folder / kScenarioFile)) {
        names.insert(folder.filename().string());
      }
    }
  }
  return sorted(names);
}

bool is_path(const std::string& name_or_path) {
  const std::string extension = fs::path{name_or_path}.extension().string();
  return name_or_path.find('/') != std::string::npos || extension == ".yaml" || extension == ".yml";
}

}  // namespace lockstep
