#include "base/json_text.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace lockstep::json {

std::string text(const std::string& value) {
  if (first_byte_outside_utf8(value)) {
    return text(made_utf8(value));
  }
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      quoted += std::string{'\\'} + c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string list(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string texts(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) {
    quoted.push_back(text(value));
  }
  return list(quoted);
}

std::string object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string content;
  for (const auto& [key, value] : members) {
    content += (content.empty() ? "" : ",") + text(key) + ":" + value;
  }
  return "{" + content + "}";
}

std::string indented(const std::string& compact) {
  std::string out;
  std::string indent = "\n";
  bool quoted = false;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (quoted || c == '"') {
      out += c;
      if (quoted && c == '\\') {
        out += compact[++i];
      } else if (c == '"') {
        quoted = !quoted;
      }
    } else if ((c == '{' || c == '[') && i + 1 < compact.size() && compact[i + 1] == c + 2) {
      out += c;  // an empty object or list: '}' is '{' + 2 and ']' is '[' + 2
      out += compact[++i];
    } else if (c == '{' || c == '[') {
      indent += "  ";
      out += c + indent;
    } else if (c == '}' || c == ']') {
      indent.resize(indent.size() - 2);
      out += indent + c;
    } else {
      out += c;
      out += c == ',' ? indent : c == ':' ? " " : "";
    }
  }
  return out + "\n";
}

}  // namespace lockstep::json
