#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep {

/// Equal values get one number, in order of first appearance. The hash only narrows the search: values are
/// compared, so a collision costs time and never joins two different values.
template <class Value, std::size_t (*Hash)(const Value&)>
class InternTable {
 public:
  std::uint32_t intern(const Value& value) {
    const std::size_t hash = Hash(value);
    const auto [begin, end] = numbers_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      if (values_[known->second] == value) {
        return known->second;
      }
    }
    const auto number = static_cast<std::uint32_t>(values_.size());
    values_.push_back(value);
    numbers_.emplace(hash, number);
    return number;
  }

  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  [[nodiscard]] std::vector<Value> take() && { return std::move(values_); }

 private:
  std::vector<Value> values_;
  std::unordered_multimap<std::size_t, std::uint32_t> numbers_;  // by hash
};

}  // namespace lockstep
