#include "traces/kernels/kernel_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/config_path.hpp"
#include "base/yaml_reader.hpp"
#include "topology/name_pattern.hpp"

namespace lockstep {
namespace {

std::string lower(std::string_view text) {
  std::string made{text};
  std::ranges::transform(made, made.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

/// Patterns as matches() takes them, in lower case.
void prepare(KernelFamilyRow& row) {
  for (std::string& pattern : row.kernels) {
    pattern = pattern.starts_with('^') ? lower(pattern.substr(1)) + "*" : "*" + lower(pattern) + "*";
  }
  for (std::string& pattern : row.operators) {
    pattern = lower(pattern);
  }
}

bool fits(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name); });
}

/// Null: the list does not say it.
const std::string* family_in(const std::vector<KernelFamilyRow>& list, std::string_view kernel,
                             std::string_view launcher) {
  const auto first = [&](auto says) -> const std::string* {
    const auto row = std::ranges::find_if(list, says);
    return row == list.end() ? nullptr : &row->family;
  };
  const std::string* found =
      first([&](const KernelFamilyRow& row) { return row.by_name_alone && fits(row.kernels, kernel); });
  if (found == nullptr && !launcher.empty()) {
    found = first([&](const KernelFamilyRow& row) { return fits(row.operators, launcher); });
  }
  return found != nullptr ? found : first([&](const KernelFamilyRow& row) {
    return !row.by_name_alone && fits(row.kernels, kernel);
  });
}

std::vector<KernelFamilyRow> standard_rows() {
  const ConfigPath configs = ConfigPath::standard();
  return read_file<KernelFamilyList>(configs.find(KernelFamilyList::kConfigKind, "standard"), configs).rows;
}

}  // namespace

void KernelFamilyRow::check() const {
  if (kernels.empty() && operators.empty()) {
    throw std::invalid_argument{
        fmt::format("a row of family '{}' finds nothing: say 'kernels', 'operators' or both", family)};
  }
  const auto is_empty = [](const std::string& pattern) { return pattern.empty() || pattern == "^"; };
  if (family.empty() || std::ranges::any_of(kernels, is_empty) || std::ranges::any_of(operators, is_empty)) {
    throw std::invalid_argument{"an empty name fits everything: families, kernels and operators have names"};
  }
}

KernelFamilies::KernelFamilies(std::vector<KernelFamilyRow> own, std::vector<KernelFamilyRow> standard)
    : lists_{std::move(own), std::move(standard)} {
  std::set<std::string> names{std::string{kOther}};
  for (std::vector<KernelFamilyRow>& list : lists_) {
    for (KernelFamilyRow& row : list) {
      prepare(row);
      names.insert(row.family);
    }
  }
  names_.assign(names.begin(), names.end());
}

const std::string& KernelFamilies::of(std::string_view kernel, std::string_view launcher) const {
  static const std::string other{kOther};
  const std::string kernel_name = lower(kernel);
  const std::string launcher_name = lower(launcher);
  for (const std::vector<KernelFamilyRow>& list : lists_) {
    if (const std::string* const found = family_in(list, kernel_name, launcher_name)) {
      return *found;
    }
  }
  return other;
}

const KernelFamilies& standard_families() {
  static const KernelFamilies families{{}, standard_rows()};
  return families;
}

KernelFamilies families_with(std::vector<KernelFamilyRow> own) {
  return {std::move(own), standard_rows()};
}

}  // namespace lockstep
