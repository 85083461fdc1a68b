#include "base/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/changed_configuration.hpp"
#include "base/hub_ids.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

constexpr const char* kFrom = "from";
constexpr const char* kModels = "models";

/// The entries of a mapping besides `from`.
YamlNode changes_of(YamlNode mapping) {
  std::erase_if(mapping.entries, [](const YamlEntry& entry) { return entry.key == kFrom; });
  return mapping;
}

/// True for one value that the command line sets in what is not there.
bool is_part(const YamlNode& mapping) {
  return mapping.at.line == 0 && mapping.entries.size() == 1 &&
         mapping.entries.front().value.kind == YamlNode::Kind::Scalar;
}

}  // namespace

std::optional<YamlNode> in_long_form(const YamlNode& node, LongForm long_form, const ConfigPath& configs) {
  if (node.kind == YamlNode::Kind::Scalar) {
    return long_form(node, configs);
  }
  const YamlEntry* from = node.find(kFrom);
  if (from == nullptr || from->value.kind != YamlNode::Kind::Scalar) {
    return std::nullopt;
  }
  std::optional<YamlNode> whole = long_form(from->value, configs);
  return whole ? std::optional{overlaid(std::move(*whole), changes_of(node))} : std::nullopt;
}

void Reading::document(const YamlDocument& document, const std::function<void(const YamlNode&)>& read) {
  open(document, {}, read);
}

void Reading::named(const std::string& kind, const YamlNode& node,
                    const std::function<void(const YamlNode&, const std::string& name)>& read) {
  const YamlEntry* from = node.find(kFrom);
  if (node.kind == YamlNode::Kind::Mapping && from == nullptr) {
    if (is_part(node)) {
      return complain(
          node.at, "part of a configuration, but of which? Say it with 'from' beside it, a name of configs/" +
                       kind + " or a file");
    }
    return read(node, "");
  }
  const YamlNode& name = from != nullptr ? from->value : node;
  if (name.kind != YamlNode::Kind::Scalar) {
    return complain(name.at,
                    "expected a name of configs/" + kind + ", a file or a mapping, not " + in_words(name));
  }
  std::string file;
  try {
    file = file_of(kind, name);
  } catch (const std::invalid_argument& problem) {
    return complain(name.at, problem.what());
  }
  read_from(file, name, [&](const YamlNode& root) {
    if (from == nullptr) {
      return read(root, name.scalar);
    }
    read(changed_configuration(root, changes_of(node)), name.scalar);
  });
}

std::string Reading::file_of(const std::string& kind, const YamlNode& name) const {
  const std::optional<std::string> shipped = kind == kModels ? shipped_model(name.scalar) : std::nullopt;
  if (!is_path(name.scalar)) {
    if (!shipped) {
      return configs_.find(kind, name.scalar).string();
    }
    const auto names = configs_.names(kind);
    const bool is_own = std::ranges::find(names, name.scalar) != names.end();
    return configs_.find(kind, is_own ? name.scalar : *shipped).string();
  }
  // A path from the command line is seen from where the command runs.
  const bool in_file = name.at.line > 0;
  const fs::path folder = in_file ? fs::path{name.at.file}.parent_path() : fs::path{};
  const fs::path file = (folder / name.scalar).lexically_normal();
  std::error_code absent;
  if (kind == kModels && is_model_id(name.scalar) && !fs::exists(file, absent)) {
    if (!shipped) {
      throw std::invalid_argument{fmt::format(
          "there is no file '{}', and no model of this id in configs/models; its config.json can be read "
          "(lockstep import config.json){}",
          name.scalar, did_you_mean(name_like(name.scalar), configs_.names(kModels)))};
    }
    return configs_.find(kModels, *shipped).string();
  }
  return file.string();
}

void Reading::read_from(const std::string& file, const YamlNode& name,
                        const std::function<void(const YamlNode&)>& read) {
  try {
    const YamlDocument document = YamlDocument::from_file(file);
    open(document, name.at, read);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) {
      complain(problem.where, problem.message + " (named at " + to_string(name.at) + ")");
    }
  }
}

void Reading::open(const YamlDocument& document, const SourceLocation& named_at,
                   const std::function<void(const YamlNode&)>& read) {
  open_.push_back({&document, named_at});
  for (const Problem& problem : document.problems()) {
    complain(problem.where, problem.message);
  }
  read(document.root());
  open_.pop_back();
}

std::string Reading::place_hint(const std::string& key) const {
  if (!place_of_ || open_.size() != 1) {
    return "";
  }
  const std::string ours = word_here(key);
  const std::optional<std::string> place = place_of_(ours);
  if (!place) {
    return "";
  }
  return fmt::format(" - '{}' belongs {}", ours,
                     place->empty() ? "at the top of the file" : "in '" + *place + "'");
}

void Reading::complain(const SourceLocation& where, const std::string& message) {
  std::string chain;
  SourceLocation at = where;
  for (auto it = open_.rbegin(); it != open_.rend(); ++it) {
    if (it->document->covers(at.file)) {
      chain += it->document->inclusion_of(at.file);
      if (!it->named_at.file.empty()) {
        chain += " (named at " + to_string(it->named_at) + ")";
        at = it->named_at;
      }
    }
  }
  problems_.push_back({where, message + chain});
}

void Reading::finish() {
  if (problems_.empty()) {
    return;
  }
  std::vector<std::string> files;  // in the order in which they were first complained of
  const auto rank = [&](const Problem& problem) {
    const auto found = std::find(files.begin(), files.end(), problem.where.file);
    return std::tuple{found - files.begin(), problem.where.line, problem.where.column};
  };
  for (const Problem& problem : problems_) {
    if (std::find(files.begin(), files.end(), problem.where.file) == files.end()) {
      files.push_back(problem.where.file);
    }
  }
  std::stable_sort(problems_.begin(), problems_.end(),
                   [&](const Problem& a, const Problem& b) { return rank(a) < rank(b); });
  throw InputError{std::move(problems_)};
}

}  // namespace lockstep
