#include "base/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>
#include <unordered_map>
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

/// Builds a tree from a document's events: one pass, without yaml-cpp's own nodes. An alias becomes a copy of
/// what its anchor names.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, std::vector<Problem>& problems) : file_{file}, problems_{problems} {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(node(YamlNode::Kind::Null, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end()) {
      const auto around = std::ranges::find(open_, anchor, &Open::anchor);  // a collection in itself
      too_deep(around == open_.end() ? at(mark) : around->node.at);
    }
    nodes_ += named->second.nodes - 1;
    if (static_cast<int>(open_.size()) + named->second.depth > kMaximumDepth) {
      too_deep(at(mark));
    }
    (void)node(YamlNode::Kind::Null, mark);  // counted
    finish(named->second.node, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode scalar = node(YamlNode::Kind::Scalar, mark);
    if (value.size() > kMostBytesOfText) {
      throw InputError{
          scalar.at, fmt::format("a text of {} bytes; at most {} are read", value.size(), kMostBytesOfText)};
    }
    scalar.scalar = value;
    finish(std::move(scalar), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::Sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::Mapping, mark, anchor);
  }
  void OnMapEnd() override { close(); }

  [[nodiscard]] YamlNode root() && { return std::move(root_); }

 private:
  /// A sequence or mapping whose end has not been heard.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    int nodes_before = 0;
    int depth = 0;  ///< levels below it so far
    // Fields of a mapping:
    enum class Awaits { Key, Value, IgnoredValue, MergedValue } awaits = Awaits::Key;
    std::string key{};
    SourceLocation key_at{};
    std::unordered_set<std::string> known{};
    bool merges = false;
    YamlNode merged{};
  };

  struct Anchored {
    YamlNode node;
    int nodes = 0;
    int depth = 0;
  };

  [[nodiscard]] SourceLocation at(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};  // yaml-cpp counts from 0
  }

  [[noreturn]] static void too_deep(SourceLocation at) {
    throw InputError{std::move(at), fmt::format("nested too deeply: at most {} levels are read (is an alias "
                                                "part of what it stands for?)",
                                                kMaximumDepth)};
  }

  YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
    if (static_cast<int>(open_.size()) > kMaximumDepth) {
      too_deep(at(mark));
    }
    if (++nodes_ > kMaximumNodes) {
      throw InputError{at(mark),
                       fmt::format("more than {} values: do aliases stand for each other?", kMaximumNodes)};
    }
    YamlNode node;
    node.kind = kind;
    node.at = at(mark);
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const int before = nodes_;
    open_.push_back({.node = node(kind, mark), .anchor = anchor, .nodes_before = before});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.merges) {
      merge(std::move(done.merged), done.node, done.known);
    }
    if (done.anchor != 0) {
      anchors_[done.anchor] = {done.node, nodes_ - done.nodes_before, done.depth + 1};
    }
    if (!open_.empty()) {
      open_.back().depth = std::max(open_.back().depth, done.depth + 1);
    }
    place(std::move(done.node));
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      anchors_[anchor] = {node, 1, 0};
    }
    place(std::move(node));
  }

  /// Puts a whole value where it belongs.
  void place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::Sequence) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    switch (std::exchange(parent.awaits, Open::Awaits::Key)) {
      case Open::Awaits::Key:
        take_key(parent, std::move(node));
        break;
      case Open::Awaits::Value:
        if (node.kind == YamlNode::Kind::Null) {  // yaml-cpp places it where the next token begins
          node.at = parent.key_at;
        }
        parent.node.entries.push_back({std::move(parent.key), std::move(parent.key_at), std::move(node)});
        break;
      case Open::Awaits::MergedValue:
        parent.merged = std::move(node);
        break;
      case Open::Awaits::IgnoredValue:
        break;
    }
  }

  void take_key(Open& mapping, YamlNode key) {
    mapping.awaits = Open::Awaits::IgnoredValue;
    if (key.kind != YamlNode::Kind::Scalar) {
      problems_.push_back({key.at, "a key must be a word"});
      return;
    }
    const bool is_merge = key.scalar == kMergeKey;
    const bool twice =
        is_merge ? std::exchange(mapping.merges, true) : !mapping.known.insert(key.scalar).second;
    if (twice) {
      problems_.push_back({key.at, "key '" + shortened(key.scalar) + "' is given twice"});
    } else {
      mapping.awaits = is_merge ? Open::Awaits::MergedValue : Open::Awaits::Value;
      mapping.key = std::move(key.scalar);
      mapping.key_at = std::move(key.at);
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

  const std::string& file_;
  std::vector<Problem>& problems_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  YamlNode root_;
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
void refuse_a_second_document(YAML::Parser& parser, const std::string& file) {
  DocumentStart start;
  if (parser.HandleNextDocument(start)) {
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

YamlNode parsed(const std::string& text, const std::string& file, std::vector<Problem>& problems) {
  require_text(text, file);
  refuse_a_long_line(text, file);
  try {
    std::istringstream stream{text};
    YAML::Parser parser{stream};
    TreeBuilder tree{file, problems};
    const bool is_empty = !parser.HandleNextDocument(tree);
    if (!is_empty) {
      refuse_a_second_document(parser, file);
    }
    YamlNode root = std::move(tree).root();
    return is_empty || root.kind == YamlNode::Kind::Null ? yaml_node(YamlNode::Kind::Null, {file, 1, 1})
                                                         : root;
  } catch (const YAML::DeepRecursion& error) {
    throw InputError{{file, error.mark.line + 1, error.mark.column + 1},
                     fmt::format("nested too deeply: at most {} levels are read", kMaximumDepth)};
  } catch (const YAML::Exception& error) {
    throw InputError{{file, error.mark.line + 1, error.mark.column + 1},
                     "not YAML: " + error.msg +
                         (is_indented_by_tab(text, error.mark.line) ? " (tabs cannot indent)" : "")};
  }
}

/// Trees of files that were read before. A sweep, a plan's probes and a validation set read the same
/// configurations for each of their points, and effective.yaml reads those of the scenario again.
class KnownTrees {
 public:
  std::optional<YamlNode> find(const std::string& text, const std::string& file) {
    const std::scoped_lock lock{mutex_};
    const auto known = trees_.find(file);
    return known != trees_.end() && known->second.first == text ? std::optional{known->second.second}
                                                                : std::nullopt;
  }

  void keep(const std::string& text, const std::string& file, const YamlNode& tree) {
    constexpr std::size_t kMostFiles = 256, kMostBytes = 256'000;
    const std::scoped_lock lock{mutex_};
    if (text.size() <= kMostBytes && (trees_.size() < kMostFiles || trees_.contains(file))) {
      trees_.insert_or_assign(file, std::pair{text, tree});
    }
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::pair<std::string, YamlNode>> trees_;  // by file: its text and tree
};

}  // namespace

YamlNode parse_yaml(const std::string& text, const std::string& file, std::vector<Problem>& problems) {
  static KnownTrees known;
  if (std::optional<YamlNode> tree = known.find(text, file)) {
    return *std::move(tree);
  }
  std::vector<Problem> found;
  YamlNode tree = parsed(text, file, found);
  if (found.empty()) {
    known.keep(text, file, tree);
  }
  std::ranges::move(found, std::back_inserter(problems));
  return tree;
}

}  // namespace lockstep
