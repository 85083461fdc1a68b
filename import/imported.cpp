#include "import/imported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.hpp"
#include "base/hub_ids.hpp"
#include "base/suggest.hpp"
#include "import/recognisers.hpp"
#include "import/scenario_text.hpp"
#include "import/settle.hpp"

namespace lockstep::importing {
namespace {

namespace fs = std::filesystem;

/// A file that people write, or a tool prints, is smaller; traces are not read to be recognised.
constexpr std::uintmax_t kMostBytes = 16U << 20U;

constexpr std::string_view kInputWord = "-";

/// Files that hold a trace begin so, or are large.
bool may_be_description(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostBytes) {
    return false;
  }
  std::array<char, 4096> head{};
  std::ifstream stream{path, std::ios::binary};
  stream.read(head.data(), head.size());
  const std::string_view begin{head.data(), static_cast<std::size_t>(stream.gcount())};
  return begin.find('\0') == std::string_view::npos && !begin.starts_with("\x1f\x8b") &&
         begin.find("\"traceEvents\"") == std::string_view::npos &&
         begin.find("\"schemaVersion\"") == std::string_view::npos &&
         begin.find("\"nodes\"") == std::string_view::npos &&
         begin.find("\"workload_graph\"") == std::string_view::npos;
}

fs::path file_of(const std::string& argument) {
  return fs::is_directory(argument) ? fs::path{argument} / "config.json" : fs::path{argument};
}

void read_id(const std::string& id, const ConfigPath& configs, Draft& draft) {
  const auto model = shipped_model(id);
  if (!model) {
    throw InputError{{id},
                     "no file of this name, and no model of this id is in configs/models" +
                         did_you_mean(name_like(id), configs.names("models")) +
                         ": download its config.json and give that"};
  }
  draft.read.push_back(fmt::format("{}: a model id, configs/models/{}.yaml", id, *model));
  draft.set("M.from", *model, {{id, 0, 0}, "model id"});
}

}  // namespace

bool is_file_of_importer(const std::string& file) {
  return may_be_description(file) && recogniser_of(read_source(file)) != nullptr;
}

bool is_description(const std::string& argument) {
  std::error_code error;
  return argument == kInputWord ||
         (fs::exists(argument, error) ? is_file_of_importer(file_of(argument).string())
                                      : is_model_id(argument));
}

Draft import_description(const std::vector<std::string>& arguments, const ConfigPath& configs) {
  Draft draft;
  for (const std::string& argument : arguments) {
    if (argument != kInputWord && !fs::exists(argument)) {
      read_id(argument, configs, draft);
      continue;
    }
    const SourceFile file =
        argument == kInputWord ? read_standard_input() : read_source(file_of(argument).string());
    const Recogniser* recogniser = recogniser_of(file);
    if (recogniser == nullptr) {
      throw InputError{{file.name},
                       "describes no job and no machine that an importer knows (lockstep list importers); "
                       "traces are given by their files' names"};
    }
    draft.read.push_back(fmt::format("{}: {}", fs::path{file.name}.filename().string(), recogniser->title));
    recogniser->read(file, draft);
  }
  settle(draft, configs);
  check(draft, configs);
  return draft;
}

}  // namespace lockstep::importing
