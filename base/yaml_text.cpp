#include "base/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace lockstep {
namespace {

using Kind = YamlNode::Kind;
using Comment = std::function<std::string(const YamlNode&)>;

constexpr std::size_t kCommentColumn = 48;

/// A colon before punctuation may be a key's.
bool may_end_a_key(const std::string& text) {
  for (std::size_t at = text.find(':'); at != std::string::npos && at + 1 < text.size();
       at = text.find(':', at + 1)) {
    const auto next = static_cast<unsigned char>(text[at + 1]);
    if (next < 0x80U && std::isalnum(next) == 0 && next != '/' && next != ':' && next != '-' && next != '.') {
      return true;
    }
  }
  return false;
}

bool begins_a_number(const std::string& text) {
  return text.size() > 1 && (std::isdigit(static_cast<unsigned char>(text[1])) != 0 || text[1] == '.');
}

bool reads_as_itself(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL" || text == "<<" ||
      text == "---" || text == "...") {
    return false;
  }
  const bool edges = text.front() != ' ' && text.back() != ' ' && text.back() != ':';
  const bool indicator = std::string{"!&*?|>%@`'\"#,[]{}:"}.find(text.front()) != std::string::npos ||
                         (text.front() == '-' && !begins_a_number(text));
  const bool plain =
      text.find_first_of(",[]{}\"\\?") == std::string::npos && !may_end_a_key(text) &&
      text.find(" #") == std::string::npos &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  return edges && !indicator && plain;
}

void append(std::string& text, std::string line, const std::string& remark) {
  if (!remark.empty()) {
    line.resize(std::max(line.size() + 2, kCommentColumn), ' ');
    line += "# " + remark;
  }
  text += line + '\n';
}

bool is_block(const YamlNode& node) {
  return (node.kind == Kind::Mapping && !node.entries.empty()) ||
         (node.kind == Kind::Sequence && std::any_of(node.items.begin(), node.items.end(), is_block));
}

void write(std::string& text, const YamlNode& node, const std::string& indent, const Comment& comment);

/// `key: value`, or `key:` and the block below; @p lead is the indentation, or `- ` behind it.
void write_entry(std::string& text, const YamlEntry& entry, const std::string& lead, const Comment& comment) {
  const std::string key = lead + quoted_if_needed(entry.key) + ":";
  if (is_block(entry.value)) {
    append(text, key, comment(entry.value));
    write(text, entry.value, std::string(lead.size() + 2, ' '), comment);
  } else {
    append(text, key + " " + flow_text(entry.value), comment(entry.value));
  }
}

void write_item(std::string& text, const YamlNode& item, const std::string& indent, const Comment& comment) {
  if (item.kind == Kind::Mapping && !item.entries.empty()) {
    std::string lead = indent + "- ";
    for (const YamlEntry& entry : item.entries) {
      write_entry(text, entry, lead, comment);
      lead = indent + "  ";
    }
  } else if (is_block(item)) {
    append(text, indent + "-", comment(item));
    write(text, item, indent + "  ", comment);
  } else {
    append(text, indent + "- " + flow_text(item), comment(item));
  }
}

void write(std::string& text, const YamlNode& node, const std::string& indent, const Comment& comment) {
  for (const YamlEntry& entry : node.entries) {
    write_entry(text, entry, indent, comment);
  }
  for (const YamlNode& item : node.items) {
    write_item(text, item, indent, comment);
  }
}

}  // namespace

std::string quoted_if_needed(const std::string& text) {
  if (reads_as_itself(text)) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += std::string{'\\'} + c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string flow_text(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case Kind::Null:
      return "~";
    case Kind::Scalar:
      return quoted_if_needed(node.scalar);
    case Kind::Sequence:
      for (const YamlNode& item : node.items) {
        text += (text.empty() ? "" : ", ") + flow_text(item);
      }
      return "[" + text + "]";
    case Kind::Mapping:
      for (const YamlEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + quoted_if_needed(entry.key) + ": " + flow_text(entry.value);
      }
  }
  return "{" + text + "}";
}

std::string block_text(const YamlNode& node, const Comment& comment) {
  std::string text;
  if (is_block(node)) {
    write(text, node, "", comment);
  } else {
    append(text, flow_text(node), comment(node));
  }
  return text;
}

}  // namespace lockstep
