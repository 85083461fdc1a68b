#include "traces/chakra/process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::chakra {
namespace {

std::vector<std::uint32_t> members(const std::string& name, const nlohmann::json& list, std::uint32_t ranks) {
  const auto reject = [&](const std::string& why) {
    throw std::invalid_argument{fmt::format("group '{}' {}", name, why)};
  };
  if (!list.is_array() || list.empty()) {
    reject("is not a list of ranks, e.g. [0, 1, 2, 3]");
  }
  std::vector<std::uint32_t> group;
  for (const nlohmann::json& rank : list) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= ranks) {
      reject(fmt::format("lists {}: the job has ranks 0 to {}", rank.dump(), ranks - 1));
    }
    group.push_back(rank.get<std::uint32_t>());
  }
  std::vector<std::uint32_t> sorted = group;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    reject(fmt::format("lists rank {} twice", *twice));
  }
  return group;
}

}  // namespace

ProcessGroups ProcessGroups::from_file(const std::filesystem::path& path, std::uint32_t ranks) {
  const std::string text = read_whole_file(path);
  ProcessGroups groups;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.is_object()) {
      throw std::invalid_argument{"no JSON object of process groups, e.g. {\"1\": [0, 1, 2, 3]}"};
    }
    const bool is_shared = json.contains("of_ranks");
    if (is_shared) {
      groups.of_ranks_ = json.at("of_ranks").get<std::vector<std::vector<std::uint32_t>>>();
      groups.names_ = json.at("names").get<std::vector<std::string>>();
    }
    for (const auto& [name, list] : json.items()) {
      if (is_shared && (name == "of_ranks" || name == "names")) continue;
      groups.ranks_of_[name] = members(name, list, ranks);
    }
  } catch (const nlohmann::json::exception& problem) {
    throw InputError{{path.string()}, fmt::format("no JSON: {}", problem.what())};
  } catch (const std::invalid_argument& problem) {
    throw InputError{{path.string()}, problem.what()};
  }
  return groups;
}

const std::vector<std::uint32_t>* ProcessGroups::find(const std::string& name) const {
  const auto found = ranks_of_.find(name);
  return found == ranks_of_.end() ? nullptr : &found->second;
}

const std::vector<std::uint32_t>& ProcessGroups::of_rank(std::uint32_t rank, std::size_t count) const {
  if (rank >= of_ranks_.size() || of_ranks_[rank].size() != count) {
    throw std::invalid_argument{fmt::format(
        "the trace of rank {} is shared and has {} process groups: which they are stands in the file of "
        "process groups that was written with it, under \"of_ranks\": trace: {{ groups: FILE }}",
        rank, count)};
  }
  return of_ranks_[rank];
}

const std::string& ProcessGroups::name_of(std::uint32_t number) const {
  if (number == 0 || number > names_.size()) {
    throw std::invalid_argument{
        fmt::format("process group {} has no name in the file of process groups", number)};
  }
  return names_[number - 1];
}

}  // namespace lockstep::chakra
