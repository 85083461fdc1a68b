#include "app/result_folder.hpp"

namespace lockstep {

std::filesystem::path result_folder(const std::string& given, const std::filesystem::path& scenario) {
  if (!given.empty()) {
    return given;
  }
  const auto name =
      scenario.filename() == "scenario.yaml" ? scenario.parent_path().filename() : scenario.stem();
  return std::filesystem::path{"lockstep-out"} / name;
}

}  // namespace lockstep
