#include "traces/json_outline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "traces/json_elements.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kMostShown = 6;
constexpr std::size_t kShownCharacters = 24;
constexpr std::string_view kSpace = " \t\r\n";
constexpr const char* kNoArray = "";  // of an object all members are wanted; an empty key is rare enough

std::string kind_of(char first) {
  switch (first) {
    case '[':
      return "a list";
    case '{':
      return "an object";
    case '"':
      return "a text";
    case 't':
    case 'f':
    case 'n':
      return "a word";
    default:
      return "a number";
  }
}

void add_members_of(const std::string& element, int line, JsonOutline& outline) {
  const auto parsed = nlohmann::ordered_json::parse(element, nullptr, false);
  if (!parsed.is_object()) {
    return;
  }
  for (const auto& [key, value] : parsed.items()) {
    const char first = value.is_array()    ? '['
                       : value.is_object() ? '{'
                       : value.is_string() ? '"'
                       : value.is_number() ? '0'
                                           : 'n';
    outline.members.push_back({key, kind_of(first), line});
  }
}

}  // namespace

bool begins_as_json(const std::string& file_name) {
  UnpackedBlocks blocks{file_name};
  bool is_list = false;
  for (std::string_view block = blocks.next(); !block.empty(); block = blocks.next()) {
    for (const char c : block) {
      if (kSpace.find(c) != std::string_view::npos) {
        continue;
      }
      if (is_list || c != '[') {
        return c == '{' || (is_list && c == ']');
      }
      is_list = true;
    }
  }
  return true;
}

std::string beginning_of(const std::string& file_name) {
  UnpackedBlocks blocks{file_name};
  std::string text{blocks.next().substr(0, kShownCharacters)};
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c > '~'; }, '.');
  return text;
}

JsonOutline outline_of(const std::string& file_name) {
  JsonOutline outline;
  JsonElements elements{kNoArray, file_name,
                        [&](const std::string& element, std::uint64_t line) {
                          if (outline.elements++ == 0) {
                            add_members_of(element, static_cast<int>(line), outline);
                          }
                        },
                        [&](std::string_view key, const std::string& text, std::uint64_t line) {
                          outline.members.push_back({std::string{key}, kind_of(text.empty() ? '0' : text[0]),
                                                     static_cast<int>(line)});
                        }};
  for_each_block(file_name, [&](std::string_view block) { elements.feed(block); });
  elements.finish();
  outline.is_list = elements.found_array();
  return outline;
}

std::string to_text(const JsonOutline& outline) {
  std::string text = outline.is_list ? fmt::format("a list of {} objects", outline.elements) : "an object";
  if (outline.members.empty()) {
    return text + (outline.elements > 0 || !outline.is_list ? " without members" : "");
  }
  text += outline.is_list ? ", the first with " : " with ";
  const std::size_t shown = std::min(kMostShown, outline.members.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const JsonOutline::Member& member = outline.members[i];
    text += i == 0 ? "" : i + 1 == outline.members.size() ? " and " : ", ";
    text += fmt::format("\"{}\" ({}, line {})", member.key, member.kind, member.line);
  }
  return shown == outline.members.size() ? text
                                         : text + fmt::format(" and {} more", outline.members.size() - shown);
}

}  // namespace lockstep
