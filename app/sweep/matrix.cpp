#include "app/sweep/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "base/suggest.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

constexpr const char* kInclude = "include";
constexpr const char* kExclude = "exclude";

bool are_alike(const YamlNode& a, const YamlNode& b) {
  if (a.kind == YamlNode::Kind::Scalar && b.kind == YamlNode::Kind::Scalar) {
    return a.scalar == b.scalar;
  }
  return a.kind == b.kind && flow_text(a) == flow_text(b);
}

/// Values of an axis that are not there yet, told by their text.
class DistinctValues {
 public:
  /// False: one like it was added before.
  bool add(const YamlNode& value) {
    return known_.insert(fmt::format("{} {}", static_cast<int>(value.kind), flow_text(value))).second;
  }

 private:
  std::unordered_set<std::string> known_;
};

const YamlNode* value_in(const PointValues& values, const std::string& key_path) {
  const auto found = std::ranges::find(values, key_path, &PointValue::key_path);
  return found == values.end() ? nullptr : &found->value;
}

class MatrixReader {
 public:
  Matrix read(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::Null) {
      return {};
    }
    if (node.kind != YamlNode::Kind::Mapping) {
      throw InputError{node.at, fmt::format("matrix: expected a mapping from keys to lists of values, not {}",
                                            in_words(node))};
    }
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == kInclude) {
        matrix_.include = combinations(entry);
      } else if (entry.key == kExclude) {
        matrix_.exclude = combinations(entry);
      } else {
        read_axis(entry);
      }
    }
    for (const PointValues& excluded : matrix_.exclude) {
      check_excluded(excluded);
    }
    if (!problems_.empty()) {
      throw InputError{std::move(problems_)};
    }
    return std::move(matrix_);
  }

 private:
  void complain(const SourceLocation& at, const std::string& what) {
    problems_.push_back({at, "matrix: " + what});
  }

  void read_axis(const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::Sequence || entry.value.items.empty()) {
      complain(entry.value.at,
               fmt::format("{}: expected a list of values, e.g. [1, 2], not {}", entry.key,
                           entry.value.items.empty() && entry.value.kind == YamlNode::Kind::Sequence
                               ? "an empty one"
                               : in_words(entry.value)));
      return;
    }
    if (entry.value.items.size() > kMostPoints) {
      complain(entry.value.at, fmt::format("{}: {} values; a sweep has at most {} points", entry.key,
                                           entry.value.items.size(), kMostPoints));
      return;
    }
    MatrixAxis axis{entry.key, {}};
    DistinctValues distinct;
    for (const YamlNode& value : entry.value.items) {
      if (!distinct.add(value)) {
        complain(value.at, fmt::format("{}: {} stands here twice", entry.key, flow_text(value)));
      } else {
        axis.values.push_back(value);
      }
    }
    matrix_.axes.push_back(std::move(axis));
  }

  std::vector<PointValues> combinations(const YamlEntry& entry) {
    std::vector<PointValues> all;
    if (entry.value.kind != YamlNode::Kind::Sequence) {
      complain(entry.value.at,
               fmt::format("{}: expected a list of mappings, not {}", entry.key, in_words(entry.value)));
      return all;
    }
    for (const YamlNode& item : entry.value.items) {
      if (item.kind != YamlNode::Kind::Mapping || item.entries.empty()) {
        complain(item.at, fmt::format("{}: expected a mapping from keys to values, not {}", entry.key,
                                      in_words(item)));
        continue;
      }
      PointValues& values = all.emplace_back();
      for (const YamlEntry& value : item.entries) {
        values.push_back({value.key, value.value});
      }
    }
    return all;
  }

  /// Refuses an exclusion that excludes nothing: it is misspelt.
  void check_excluded(const PointValues& excluded) {
    for (const PointValue& value : excluded) {
      const auto axis = std::ranges::find(matrix_.axes, value.key_path, &MatrixAxis::key_path);
      if (axis == matrix_.axes.end()) {
        std::vector<std::string> keys;
        for (const MatrixAxis& each : matrix_.axes) {
          keys.push_back(each.key_path);
        }
        complain(value.value.at, fmt::format("exclude: '{}' is no key of the matrix{}", value.key_path,
                                             did_you_mean(value.key_path, keys)));
      } else if (std::ranges::none_of(axis->values,
                                      [&](const YamlNode& each) { return are_alike(each, value.value); })) {
        complain(value.value.at, fmt::format("exclude: {} is not among the values of '{}'",
                                             flow_text(value.value), value.key_path));
      }
    }
  }

  Matrix matrix_;
  std::vector<Problem> problems_;
};

bool has_all(const PointValues& point, const PointValues& wanted) {
  return std::ranges::all_of(wanted, [&](const PointValue& value) {
    const YamlNode* own = value_in(point, value.key_path);
    return own != nullptr && are_alike(*own, value.value);
  });
}

std::vector<PointValues> combined(const std::vector<MatrixAxis>& axes) {
  if (axes.empty()) {
    return {};
  }
  std::vector<PointValues> points{{}};
  for (const MatrixAxis& axis : axes) {
    if (points.size() * axis.values.size() > kMostPoints) {
      throw std::invalid_argument{fmt::format("a sweep has at most {} points", kMostPoints)};
    }
    std::vector<PointValues> longer;
    for (const PointValues& point : points) {
      for (const YamlNode& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back({axis.key_path, value});
      }
    }
    points = std::move(longer);
  }
  return points;
}

void add(PointValues& point, const PointValues& more) {
  for (const PointValue& value : more) {
    const auto own = std::ranges::find(point, value.key_path, &PointValue::key_path);
    if (own == point.end()) {
      point.push_back(value);
    } else {
      own->value = value.value;
    }
  }
}

/// The values of axes stay; what another entry of include has added may change.
bool changes_an_axis(const PointValues& original, const PointValues& more) {
  return std::ranges::any_of(more, [&](const PointValue& value) {
    const YamlNode* own = value_in(original, value.key_path);
    return own != nullptr && !are_alike(*own, value.value);
  });
}

}  // namespace

Matrix read_matrix(const YamlNode& node) {
  return MatrixReader{}.read(node);
}

void set_axis(Matrix& matrix, const std::string& key_path, const std::vector<std::string>& values) {
  MatrixAxis axis{key_path, {}};
  DistinctValues distinct;
  for (const std::string& text : values) {
    YamlNode value = YamlDocument::value_of_set(key_path, text);
    if (!distinct.add(value)) {
      throw InputError{value.at, fmt::format("{} is given twice", flow_text(value))};
    }
    axis.values.push_back(std::move(value));
  }
  const auto same = std::ranges::find(matrix.axes, key_path, &MatrixAxis::key_path);
  if (same == matrix.axes.end()) {
    matrix.axes.push_back(std::move(axis));
  } else {
    *same = std::move(axis);
  }
}

std::vector<PointValues> points_of(const Matrix& matrix) {
  std::vector<PointValues> points = combined(matrix.axes);
  std::erase_if(points, [&](const PointValues& point) {
    return std::ranges::any_of(matrix.exclude,
                               [&](const PointValues& excluded) { return has_all(point, excluded); });
  });
  const std::vector<PointValues> originals = points;
  for (const PointValues& more : matrix.include) {
    bool is_added = false;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      if (!changes_an_axis(originals[i], more)) {
        add(points[i], more);
        is_added = true;
      }
    }
    if (!is_added) {
      points.push_back(more);
    }
  }
  if (points.empty()) {
    throw std::invalid_argument{"no point is left: 'exclude' excludes all"};
  }
  return points;
}

}  // namespace lockstep
