#include "app/result_folder.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {

std::filesystem::path result_folder(const std::string& given, const std::filesystem::path& scenario) {
  if (!given.empty()) {
    return given;
  }
  const auto name =
      scenario.filename() == "scenario.yaml" ? scenario.parent_path().filename() : scenario.stem();
  return std::filesystem::path{"lockstep-out"} / name;
}

ResultFolder::ResultFolder(std::filesystem::path path) : path_{std::move(path)} {
  std::error_code failure;
  std::filesystem::create_directories(path_, failure);
  if (failure || !std::filesystem::is_directory(path_, failure)) {
    throw InputError{{path_.string()},
                     fmt::format("cannot be made: {}", failure ? failure.message() : "it is no folder")};
  }
  check_writable(path_ / "results");
}

ResultFolder::~ResultFolder() {
  std::error_code not_empty;
  std::filesystem::remove(path_, not_empty);
}

void remove_old(const std::filesystem::path& folder,
                const std::function<bool(const std::string& name)>& is_old) {
  std::vector<std::filesystem::path> old;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{folder, ignored}) {
    if (is_old(entry.path().filename().string())) {
      old.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& file : old) {
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace lockstep
