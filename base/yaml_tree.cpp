#include "base/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/suggest.hpp"
#include "base/utf8.hpp"

namespace lockstep {
namespace {

/// Far above any configuration, far below what a nest of aliases ("billion laughs") can ask for.
constexpr int kMaximumDepth = 64;
constexpr int kMaximumNodes = 1'000'000;
constexpr std::size_t kMostBytesOfText = 1'000'000;

constexpr const char* kMergeKey = "<<";

/// Copies yaml-cpp's nodes, whose aliases are shared, into a tree.
class Copy {
 public:
  Copy(const std::string& file, std::vector<Problem>& problems) : file_{file}, problems_{problems} {}

  YamlNode node(const YAML::Node& source, int depth = 0) {
    if (depth > kMaximumDepth) {
      throw InputError{at(source), fmt::format("nested too deeply: at most {} levels are read (is an alias "
                                               "part of what it stands for?)",
                                               kMaximumDepth)};
    }
    if (++nodes_ > kMaximumNodes) {
      throw InputError{at(source),
                       fmt::format("more than {} values: do aliases stand for each other?", kMaximumNodes)};
    }
    YamlNode copy;
    copy.at = at(source);
    if (source.IsScalar()) {
      copy.kind = YamlNode::Kind::Scalar;
      if (source.Scalar().size() > kMostBytesOfText) {
        throw InputError{copy.at, fmt::format("a text of {} bytes; at most {} are read",
                                              source.Scalar().size(), kMostBytesOfText)};
      }
      copy.scalar = source.Scalar();
    } else if (source.IsSequence()) {
      copy.kind = YamlNode::Kind::Sequence;
      for (const YAML::Node& item : source) {
        copy.items.push_back(node(item, depth + 1));
      }
    } else if (source.IsMap()) {
      copy.kind = YamlNode::Kind::Mapping;
      mapping(source, copy, depth);
    }
    return copy;
  }

 private:
  void mapping(const YAML::Node& source, YamlNode& copy, int depth) {
    YamlNode merged;
    bool merges = false;
    std::unordered_set<std::string> known;
    for (const auto& entry : source) {
      if (!entry.first.IsScalar()) {
        problems_.push_back({at(entry.first), "a key must be a word"});
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const bool twice = key == kMergeKey ? std::exchange(merges, true) : !known.insert(key).second;
      if (twice) {
        problems_.push_back({at(entry.first), "key '" + shortened(key) + "' is given twice"});
      } else if (key == kMergeKey) {
        merged = node(entry.second, depth + 1);
      } else {
        copy.entries.push_back({key, at(entry.first), node(entry.second, depth + 1)});
        if (entry.second.IsNull()) {  // yaml-cpp places it where the next token begins
          copy.entries.back().value.at = copy.entries.back().at;
        }
      }
    }
    if (merges) {
      merge(std::move(merged), copy, known);
    }
  }

  /// https://yaml.org/type/merge.html: a mapping, or a list of mappings of which the earlier win.
  void merge(YamlNode source, YamlNode& into, std::unordered_set<std::string>& known) {
    if (source.kind == YamlNode::Kind::Sequence) {
      for (YamlNode& item : source.items) {
        if (item.kind == YamlNode::Kind::Sequence) {
          problems_.push_back({item.at, "<<: expected a mapping, not a list in a list"});
        } else {
          merge(std::move(item), into, known);
        }
      }
    } else if (source.kind == YamlNode::Kind::Mapping) {
      for (YamlEntry& entry : source.entries) {
        if (known.insert(entry.key).second) {
          into.entries.push_back(std::move(entry));
        }
      }
    } else {
      problems_.push_back(
          {source.at, "<<: expected an alias of a mapping (e.g. <<: *base), not " + in_words(source)});
    }
  }

  [[nodiscard]] SourceLocation at(const YAML::Node& source) const {
    return {file_, source.Mark().line + 1, source.Mark().column + 1};  // yaml-cpp counts from 0
  }

  const std::string& file_;
  std::vector<Problem>& problems_;
  int nodes_ = 0;
};

/// Hears a document and keeps the place where it begins.
class DocumentStart : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

  [[nodiscard]] const YAML::Mark& mark() const { return mark_; }

 private:
  YAML::Mark mark_;
};

/// Not YAML::LoadAll(): on some malformed texts (`,: &a`) yaml-cpp 0.7 takes the same place for the beginning
/// of ever more documents.
void refuse_a_second_document(const std::string& text, const std::string& file) {
  std::istringstream stream{text};
  YAML::Parser parser{stream};
  DocumentStart start;
  if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start)) {
    throw InputError{{file, start.mark().line + 1, start.mark().column + 1},
                     "not one YAML document: a second one (or text that is no YAML) begins here"};
  }
}

/// Before yaml-cpp, which takes a microsecond for each of its characters.
void refuse_a_long_line(const std::string& text, const std::string& file) {
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > kMostBytesOfText && text.find_first_of(",[{", begin) >= end) {
      throw InputError{{file, line, 1},
                       fmt::format("a line of {} bytes without a list or mapping; a text has at most {}",
                                   end - begin, kMostBytesOfText)};
    }
    begin = end + 1;
  }
}

bool is_indented_by_tab(const std::string& text, int line) {
  std::istringstream lines{text};
  std::string content;
  for (int i = 0; i <= line && std::getline(lines, content); ++i) {
  }
  return content.find('\t') < content.find_first_not_of(" \t");
}

}  // namespace

YamlNode parse_yaml(const std::string& text, const std::string& file, std::vector<Problem>& problems) {
  require_text(text, file);
  refuse_a_long_line(text, file);
  try {
    refuse_a_second_document(text, file);
    const YAML::Node document = YAML::Load(text);
    return document.IsNull() ? yaml_node(YamlNode::Kind::Null, {file, 1, 1})
                             : Copy{file, problems}.node(document);
  } catch (const YAML::DeepRecursion& error) {
    throw InputError{{file, error.mark.line + 1, error.mark.column + 1},
                     fmt::format("nested too deeply: at most {} levels are read", kMaximumDepth)};
  } catch (const YAML::Exception& error) {
    throw InputError{{file, error.mark.line + 1, error.mark.column + 1},
                     "not YAML: " + error.msg +
                         (is_indented_by_tab(text, error.mark.line) ? " (tabs cannot indent)" : "")};
  }
}

}  // namespace lockstep
