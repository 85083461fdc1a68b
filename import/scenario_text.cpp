#include "import/scenario_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "import/settle.hpp"
#include "import/users_words.hpp"
#include "scenario/resolved_scenario.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep::importing {
namespace {

constexpr std::size_t kCommentColumn = 48;
const char* const kDocument = "the imported files";

/// The order of keys in a scenario; others follow in theirs.
std::size_t rank_of(const std::string& path) {
  constexpr std::array<std::string_view, 7> kOrder{"name",
                                                   "cluster",
                                                   "workload.model.from",
                                                   "workload.model.name",
                                                   "workload.model.source",
                                                   "workload.model.",
                                                   "workload."};
  const auto found = std::ranges::find_if(
      kOrder, [&](std::string_view row) { return row.ends_with('.') ? path.starts_with(row) : path == row; });
  return static_cast<std::size_t>(found - kOrder.begin());
}

std::string file_name(const SourceLocation& at) {
  const std::string name = std::filesystem::path{at.file}.filename().string();
  return at.line > 0 ? fmt::format("{}:{}", name, at.line) : name;
}

class ScenarioWriter {
 public:
  explicit ScenarioWriter(const Draft& draft) : draft_{draft} {}

  std::string write(const YamlNode& root) {
    mapping(root, "");
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::string origin(const YamlNode& value) const {
    if (value.kind == YamlNode::Kind::Mapping && !value.entries.empty()) {
      return "";
    }
    if (value.at.line == 0) {
      return value.at.file;
    }
    const auto name = draft_.names_by_place.find(to_string(value.at));
    return file_name(value.at) + (name == draft_.names_by_place.end() ? "" : " " + name->second);
  }

  void line(std::string text, const std::string& remark) {
    if (!remark.empty()) {
      text.resize(std::max(text.size() + 2, kCommentColumn), ' ');
      text += "# " + remark;
    }
    text_ += text + '\n';
  }

  void mapping(const YamlNode& node, const std::string& indent) {
    for (const YamlEntry& entry : node.entries) {
      value(entry.key, entry.value, indent, indent);
    }
  }

  /// @param lead the indentation, or `- ` behind it
  void value(const std::string& key, const YamlNode& node, const std::string& lead,
             const std::string& indent) {
    const bool has_rows = node.kind == YamlNode::Kind::Sequence && !node.items.empty() &&
                          node.items.front().kind == YamlNode::Kind::Mapping;
    if (node.kind == YamlNode::Kind::Mapping && !node.entries.empty()) {
      line(lead + key + ":", "");
      mapping(node, indent + "  ");
    } else if (has_rows) {
      line(lead + key + ":", "");
      for (const YamlNode& item : node.items) {
        row(item, indent + "  ");
      }
    } else {
      line(lead + key + ": " + flow_text(node), origin(node));
    }
  }

  void row(const YamlNode& item, const std::string& indent) {
    const bool is_flat = std::ranges::all_of(
        item.entries, [](const YamlEntry& entry) { return entry.value.kind == YamlNode::Kind::Scalar; });
    if (is_flat) {
      return line(indent + "- " + flow_text(item),
                  item.entries.empty() ? "" : origin(item.entries.front().value));
    }
    std::string lead = indent + "- ";
    for (const YamlEntry& entry : item.entries) {
      value(entry.key, entry.value, lead, indent + "  ");
      lead = indent + "  ";
    }
  }

  const Draft& draft_;
  std::string text_;
};

std::string titled(Remark::Kind kind) {
  switch (kind) {
    case Remark::Kind::Conflict:
      return "files that differ";
    case Remark::Kind::NotModelled:
      return "not modelled";
    case Remark::Kind::Unknown:
      return "not understood";
    case Remark::Kind::Unsaid:
      return "not said by the files";
    case Remark::Kind::NoEffect:
      return "without effect on the time of a step";
  }
  return "";
}

/// Keys without effect stand in one list, folded to lines.
std::string folded(const std::vector<std::string>& names) {
  constexpr std::size_t kWidth = 110;
  std::string text, line;
  for (const std::string& name : names) {
    if (!line.empty() && line.size() + name.size() > kWidth) {
      text += "  " + line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + name;
  }
  return line.empty() ? text : text + "  " + line + "\n";
}

std::string as_comment(const std::string& text) {
  std::string commented;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    commented += "# " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return commented;
}

}  // namespace

YamlDocument document_of(const Draft& draft) {
  YamlDocument document = YamlDocument::from_text("{}", kDocument);
  if (!has_job(draft) || (draft.keys().size() == 1 && draft.has("cluster"))) {
    const DraftKey* cluster = draft.find("cluster");
    for (const YamlEntry& entry : cluster->value.entries) {
      document.set(entry.key, entry.value);
    }
    return document;
  }
  std::vector<DraftKey> keys = draft.keys();
  std::ranges::stable_sort(keys, {}, [](const DraftKey& key) { return rank_of(key.path); });
  const bool only_from = std::ranges::none_of(keys, [](const DraftKey& key) {
    return key.path.starts_with("workload.model.") && key.path != "workload.model.from";
  });
  for (DraftKey& key : keys) {
    document.set(key.path == "workload.model.from" && only_from ? "workload.model" : key.path,
                 std::move(key.value));
  }
  return document;
}

std::string remarks_text(const Draft& draft) {
  std::string text;
  for (const auto kind :
       {Remark::Kind::Conflict, Remark::Kind::NotModelled, Remark::Kind::Unknown, Remark::Kind::Unsaid}) {
    std::string rows;
    for (const Remark& remark : draft.remarks()) {
      if (remark.kind == kind) {
        rows += fmt::format("  {} {}{}\n", file_name(remark.at), remark.key,
                            remark.why.empty() ? "" : ": " + remark.why);
      }
    }
    text += rows.empty() ? "" : titled(kind) + ":\n" + rows;
  }
  std::vector<std::string> names;
  for (const Remark& remark : draft.remarks()) {
    if (remark.kind == Remark::Kind::NoEffect && std::ranges::count(names, remark.key) == 0) {
      names.push_back(remark.key);
    }
  }
  return text + (names.empty() ? "" : titled(Remark::Kind::NoEffect) + ":\n" + folded(names));
}

std::string text_of(const Draft& draft) {
  std::string read;
  for (const std::string& line : draft.read) {
    read += "read " + line + "\n";
  }
  return as_comment(read + remarks_text(draft)) + "\n" +
         ScenarioWriter{draft}.write(document_of(draft).root());
}

void check(const Draft& draft, const ConfigPath& configs) {
  const YamlDocument document = document_of(draft);
  try {
    if (document.root().find("nodes") != nullptr) {
      static_cast<void>(read_document<ClusterSpec>(document, configs));
    } else {
      static_cast<void>(build(document, configs));
    }
  } catch (const InputError& problems) {
    throw in_users_words(problems, draft, kDocument);
  }
}

}  // namespace lockstep::importing
