#include "calibration/kernels/shape_words.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/suggest.hpp"

namespace lockstep {

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_read = problem == std::errc{} && end == text.data() + text.size();
  return is_read && std::isfinite(number) ? std::optional{number} : std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  constexpr double kMost = 1LL << 40;  // a trillion: more than any tensor has
  const std::optional<double> number = number_in(text);
  if (!number || std::floor(*number) != *number || std::abs(*number) > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::map<std::string, std::string> shape_words(const std::string& cell) {
  std::map<std::string, std::string> values;
  std::istringstream words{cell};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) ShapeWords::complain(fmt::format("'{}' is not KEY=VALUE", word));
    const std::string key = word.substr(0, equals);
    if (!values.emplace(key, word.substr(equals + 1)).second) {
      ShapeWords::complain(key + "= is said twice");
    }
  }
  return values;
}

const std::string& ShapeWords::text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) complain(fmt::format("no {}=", key));
  asked_.insert(key);
  return found->second;
}

double ShapeWords::number(const std::string& key, double least) const {
  const auto value = number_in(text(key));
  if (!value || !(*value >= least)) {
    complain(fmt::format("{}={} is no number of at least {:g}", key, text(key), least));
  }
  return *value;
}

bool ShapeWords::flag(const std::string& key) const {
  const double value = number(key, 0);
  if (value != 0 && value != 1) complain(fmt::format("{}= is 0 or 1", key));
  return value == 1;
}

std::int64_t ShapeWords::whole(const std::string& key, std::int64_t least) const {
  const auto value = count_in(text(key));
  if (!value || *value < least) {
    complain(fmt::format("{}={} is no whole number of at least {}", key, text(key), least));
  }
  return *value;
}

void ShapeWords::finish() const {
  for (const auto& [key, value] : values_) {
    if (!asked_.contains(key)) {
      complain(fmt::format("there is no {}={}", key,
                           did_you_mean(key, std::vector<std::string>{asked_.begin(), asked_.end()})));
    }
  }
}

void ShapeWords::complain(const std::string& what) {
  throw std::invalid_argument{"shape: " + what};
}

}  // namespace lockstep
