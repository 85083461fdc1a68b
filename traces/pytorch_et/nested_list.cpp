#include "traces/pytorch_et/nested_list.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

namespace lockstep::pytorch_et {
namespace {

constexpr std::size_t kDeepest = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// The end of the scalar that begins at @p at; npos for a string without an end.
std::size_t end_of_scalar(std::string_view text, std::size_t at) {
  if (text[at] != '"') {
    const std::size_t end = text.find_first_of(",[]{} \n\t\r\"", at);
    return end == std::string_view::npos ? text.size() : end;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

bool NestedList::parse(std::string_view text) {
  items_.clear();
  std::vector<std::uint32_t> open;
  std::size_t at = 0;
  bool is_over = false;
  while (at < text.size()) {
    const char c = text[at];
    if (is_blank(c) || (c == ',' && !open.empty())) {
      ++at;
    } else if (is_over) {
      return false;
    } else if (c == '[') {
      if (open.size() == kDeepest) {
        return false;
      }
      open.push_back(static_cast<std::uint32_t>(items_.size()));
      items_.push_back({text.substr(at), true, 0});
      ++at;
    } else if (c == ']' && !open.empty()) {
      Item& list = items_[open.back()];
      list.text = list.text.substr(0, at + 1 - static_cast<std::size_t>(list.text.data() - text.data()));
      list.end = static_cast<std::uint32_t>(items_.size());
      open.pop_back();
      is_over = open.empty();
      ++at;
    } else {
      const std::size_t end = open.empty() ? at : end_of_scalar(text, at);
      if (end == at || end == std::string_view::npos) {
        return false;
      }
      items_.push_back({text.substr(at, end - at), false, static_cast<std::uint32_t>(items_.size() + 1)});
      at = end;
    }
  }
  return is_over;
}

std::vector<std::uint32_t> NestedList::children(std::uint32_t list) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t item = list + 1; item < items_[list].end; item = items_[item].end) {
    found.push_back(item);
  }
  return found;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number ? std::optional{number} : std::nullopt;
}

std::string plain_text(std::string_view json) {
  if (json.size() < 2 || json.front() != '"' || json.back() != '"') {
    return std::string{json};
  }
  const std::string_view inside = json.substr(1, json.size() - 2);
  if (inside.find('\\') == std::string_view::npos) {
    return std::string{inside};
  }
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string{inside};
}

std::vector<std::string_view> types_within(std::string_view type) {
  std::vector<std::string_view> types;
  const std::size_t open = type.find('[');
  const std::string_view kind = type.substr(0, open);
  if (open == std::string_view::npos || !type.ends_with(']') || (kind != "GenericList" && kind != "Tuple")) {
    return types;
  }
  const std::string_view inside = type.substr(open + 1, type.size() - open - 2);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at < inside.size(); ++at) {
    const char c = inside[at];
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      types.push_back(inside.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  if (!inside.empty()) {
    types.push_back(inside.substr(begin));
  }
  return types;
}

}  // namespace lockstep::pytorch_et
