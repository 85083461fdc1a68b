#include "generate/runtime/results.cuh"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace benchmark {
namespace {

/// The median, and a 95 % interval of it by order statistics.
struct Interval {
  double median = 0, low = 0, high = 0;
};

Interval interval_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::sort(values.begin(), values.end());
  const double count = static_cast<double>(values.size());
  const double half = 0.98 * std::sqrt(count);  // 1.96 standard deviations of a binomial of 1/2
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(std::floor(rank), 0.0, count - 1))];
  };
  return {at(count / 2), at(count / 2 - half), at(count / 2 + half)};
}

template <class List>
void write_list(std::ostream& out, const List& values) {
  const char* separator = "";
  out << '[';
  for (const double value : values) {
    out << separator << value;
    separator = ", ";
  }
  out << ']';
}

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) {
    made += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return made;
}

}  // namespace

std::string to_json(const Measured& m, std::uint32_t rank) {
  std::ostringstream out;
  out.precision(9);
  const Interval step = interval_of(m.steps);
  out << "{\n  \"rank\": " << rank << ",\n  \"gpu\": \"" << escaped(m.gpu) << "\",\n";
  out << "  \"step_s\": " << step.median << ",\n  \"step_low_s\": " << step.low
      << ",\n  \"step_high_s\": " << step.high << ",\n  \"steps_s\": ";
  write_list(out, m.steps);
  out << ",\n  \"host_step_s\": " << interval_of(m.host_steps).median
      << ",\n  \"host_late_s\": " << m.host_late << ",\n  \"launch_s\": " << m.launch
      << ",\n  \"memory_bytes\": " << m.memory
      << ",\n  \"operands_at_planned_places\": " << m.operands.planned
      << ",\n  \"operands_in_turn\": " << m.operands.in_turn << ",\n  \"families\": {";
  const char* separator = "";
  for (const auto& [name, family] : m.families) {
    out << separator << "\n    \"" << escaped(name) << "\": {\"launches\": " << family.launches
        << ", \"seconds\": " << family.seconds << ", \"expected\": " << family.expected << '}';
    separator = ",";
  }
  out << "\n  },\n  \"kernels_s\": ";
  write_list(out, m.kernels);
  out << "\n}\n";
  return out.str();
}

std::string to_text(const Measured& m, std::uint32_t rank) {
  std::ostringstream out;
  const Interval step = interval_of(m.steps);
  out.precision(4);
  out << "rank " << rank << ": " << 1e3 * step.median << " ms a step (" << 1e3 * step.low << " to "
      << 1e3 * step.high << "), a launch " << 1e6 * m.launch << " us";
  if (m.host_late > 0) {
    out << ", host late by " << 1e3 * m.host_late << " ms a step";
  }
  return out.str();
}

}  // namespace benchmark
