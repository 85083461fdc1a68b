#include "app/view/static_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "app/report/page.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/svg.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

/// `%XX` as bytes. Nothing: not well-formed, or with a zero byte.
std::optional<std::string> unescaped(const std::string& target) {
  std::string text;
  for (std::size_t i = 0; i < target.size() && target[i] != '?' && target[i] != '#'; ++i) {
    if (target[i] != '%') {
      text += target[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = target.data() + i + 1;
    if (i + 2 >= target.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2 ||
        value == 0) {
      return std::nullopt;
    }
    text += static_cast<char>(value);
    i += 2;
  }
  return text.find('\0') == std::string::npos ? std::optional{text} : std::nullopt;
}

std::string escaped_path(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          std::string_view{"-._~"}.find(c) != std::string_view::npos;
    text += is_plain ? std::string{c}
                     : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string type_of(const std::string& name) {
  static constexpr std::array kTypes{std::pair{".html", "text/html; charset=utf-8"},
                                     std::pair{".svg", "image/svg+xml"},
                                     std::pair{".json", "application/json"},
                                     std::pair{".gz", "application/gzip"},
                                     std::pair{".png", "image/png"},
                                     std::pair{".yaml", "text/plain; charset=utf-8"},
                                     std::pair{".csv", "text/csv; charset=utf-8"},
                                     std::pair{".txt", "text/plain; charset=utf-8"},
                                     std::pair{".md", "text/plain; charset=utf-8"}};
  const auto found =
      std::ranges::find_if(kTypes, [&](const auto& type) { return name.ends_with(type.first); });
  return found == kTypes.end() ? "application/octet-stream" : found->second;
}

bool is_inside(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

/// A page of links to what is in a folder.
std::string listing(const fs::path& folder, const std::string& title) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) {
      names.push_back(entry.is_directory(ignored) ? name + "/" : name);
    }
  }
  std::ranges::sort(names);
  std::string items;
  for (const std::string& name : names) {
    const bool is_folder = name.ends_with('/');
    items += fmt::format("<li><a href=\"{}{}\">{}</a></li>\n",
                         escaped_path(is_folder ? name.substr(0, name.size() - 1) : name),
                         is_folder ? "/" : "", svg_escaped(name));
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><meta "
      "name=\"color-scheme\" "
      "content=\"light dark\"><style>body{{font:15px/1.7 "
      "system-ui,Arial,sans-serif;margin:40px}}</style></head>\n"
      "<body><h1>{0}</h1>\n<ul>\n{1}</ul></body></html>\n",
      svg_escaped(title), items);
}

FileAnswer refused(int status, std::string why) {
  return {status, "text/plain; charset=utf-8", std::move(why) + "\n"};
}

}  // namespace

StaticFiles::StaticFiles(const fs::path& folder) {
  std::error_code failed;
  root_ = fs::canonical(folder, failed);
  if (failed || !fs::is_directory(root_, failed)) {
    throw InputError{{folder.string()}, "is no folder: name one with results, e.g. lockstep-out/gpt2_8xa100"};
  }
}

FileAnswer StaticFiles::answer(const std::string& target) const {
  const auto path = unescaped(target);
  if (!path || !path->starts_with('/')) {
    return refused(400, "not a path");
  }
  std::error_code failed;
  fs::path file = fs::canonical(root_ / fs::path{*path}.relative_path(), failed);
  if (failed) {
    return refused(404, "there is no such file");
  }
  if (!is_inside(file, root_)) {
    return refused(403, "outside of the folder");
  }
  if (fs::is_directory(file, failed)) {
    if (!path->ends_with('/')) {  // else the page's links would lead elsewhere
      return refused(404, "a folder's address ends in /");
    }
    const fs::path page = fs::canonical(file / kReportPage, failed);
    if (failed || !is_inside(page, root_)) {
      return {200, "text/html; charset=utf-8", listing(file, *path)};
    }
    file = page;
  }
  if (!fs::is_regular_file(file, failed)) {
    return refused(403, "not a file");
  }
  return {200, type_of(file.filename().string()), read_own_file(file)};
}

}  // namespace lockstep
