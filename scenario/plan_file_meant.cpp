#include "scenario/plan_file_meant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace lockstep {

std::string plan_file_meant(const InputError& error) {
  for (const Problem& problem : error.problems()) {
    const std::filesystem::path file{problem.where.file};
    const bool is_of_search = file.filename() == "plan.json" || file.filename() == "torchrec_plan.json";
    const bool lacks_its_keys = problem.message.find("missing key 'tables'") != std::string::npos;
    if (is_of_search && lacks_its_keys) {
      return fmt::format(
          "{}: lockstep search writes it for other programs; a scenario takes the plan.yaml "
          "beside it",
          file.string());
    }
  }
  return "";
}

}  // namespace lockstep
