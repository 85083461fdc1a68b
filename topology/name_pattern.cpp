#include "topology/name_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/suggest.hpp"

namespace lockstep {
namespace {

std::optional<int> number(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && value >= 0 ? std::optional{value} : std::nullopt;
}

/// `gpu2..5` as `gpu2`, `gpu3`, ...; a word without a range as itself.
std::vector<std::string> words_of_range(const std::string& word) {
  const auto dots = word.find("..");
  if (dots == std::string::npos) {
    return {word};
  }
  const auto last_letter = word.find_last_not_of("0123456789", dots == 0 ? 0 : dots - 1);
  const auto digits = last_letter == std::string::npos ? 0 : last_letter + 1;
  const auto first = number(std::string_view{word}.substr(digits, dots - digits));
  const auto last = number(std::string_view{word}.substr(dots + 2));
  if (!first || !last || *first > *last) {
    throw std::invalid_argument{"'" + word + "' is not a range: expected e.g. gpu0..3"};
  }
  std::vector<std::string> words;
  for (int i = *first; i <= *last; ++i) {
    words.push_back(word.substr(0, digits) + std::to_string(i));
  }
  return words;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;  // in `name`: where the text of the last star ends for now
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

NamedPlaces::NamedPlaces(std::vector<std::string> names) : names_{std::move(names)}, sorted_(names_.size()) {
  std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
  std::ranges::sort(sorted_, [this](std::size_t a, std::size_t b) {
    return std::tie(names_[a], a) < std::tie(names_[b], b);
  });
}

void NamedPlaces::append(const std::string& word, std::vector<std::size_t>& places) const {
  if (word.find_first_of("*?") == std::string::npos) {
    const auto name_of = [this](std::size_t place) -> const std::string& { return names_[place]; };
    places.insert(places.end(), std::ranges::lower_bound(sorted_, word, {}, name_of),
                  std::ranges::upper_bound(sorted_, word, {}, name_of));
    return;
  }
  for (std::size_t place = 0; place < names_.size(); ++place) {
    if (matches(word, names_[place])) {
      places.push_back(place);
    }
  }
}

std::vector<std::size_t> NamedPlaces::of(const std::string& words) const {
  std::vector<std::size_t> places;
  std::istringstream stream{words};
  for (std::string range; stream >> range;) {
    for (const std::string& word : words_of_range(range)) {
      const std::size_t before = places.size();
      append(word, places);
      if (places.size() == before) {
        throw std::invalid_argument{"nothing is called '" + word + "'" + did_you_mean(word, names_)};
      }
    }
  }
  if (places.empty()) {
    throw std::invalid_argument{"names nothing: expected e.g. gpu0 gpu1, gpu0..3 or gpu*"};
  }
  return places;
}

}  // namespace lockstep
