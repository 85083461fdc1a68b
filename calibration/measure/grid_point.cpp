#include "calibration/measure/grid_point.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace lockstep {

GridPoint& GridPoint::set(const std::string& name, const std::string& value) {
  if ((name + value).find_first_of(",\"#\r\n") != std::string::npos) {
    throw std::logic_error{fmt::format("{}: '{}' does not fit a cell", name, value)};
  }
  values_.emplace_back(name, value);
  return *this;
}

GridPoint& GridPoint::set(const std::string& name, std::int64_t value) {
  return set(name, std::to_string(value));
}

const std::string& GridPoint::text(const std::string& name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) {
      return value;
    }
  }
  throw std::logic_error{fmt::format("the point {} has no '{}'", key(), name)};
}

std::int64_t GridPoint::integer(const std::string& name) const {
  const std::string& value = text(name);
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc{} || end != value.data() + value.size()) {
    throw std::logic_error{fmt::format("{}: '{}' is no integer", name, value)};
  }
  return number;
}

std::string GridPoint::key() const {
  std::string joined;
  for (const auto& [name, value] : values_) {
    joined += (joined.empty() ? "" : ",") + value;
  }
  return joined;
}

}  // namespace lockstep
