#include "app/set_in_words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/config_path.hpp"

namespace lockstep {

std::string set_in_words(const std::string& key, const std::string& file) {
  constexpr std::string_view kPlain = "/._-+,@%";
  const bool is_plain = std::ranges::all_of(file, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  const std::string set = key + "=" + (is_path(file) ? "" : "./") + file;
  return "--set " + (is_plain ? set : "'" + set + "'");
}

}  // namespace lockstep
