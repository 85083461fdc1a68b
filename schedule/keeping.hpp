#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/yaml_value.hpp"
#include "schedule/kept_model.hpp"

namespace lockstep {

/// Follows what becomes of one model's groups.
class Keeping {
 public:
  Keeping(const ModelSpec& full, const KeptShares& keep, std::int64_t multiple)
      : kept_{full, {}, {}, 0}, keep_{keep}, multiple_{multiple} {}

  [[nodiscard]] double share(LayerGroup group) const {
    const auto found = keep_.find(group);
    return found == keep_.end() ? 1 : found->second;
  }
  [[nodiscard]] bool changes(LayerGroup group) const { return share(group) < 1; }
  [[nodiscard]] std::int64_t width(LayerGroup group, std::int64_t full) const {
    return kept_width(full, share(group), multiple_);
  }
  /// Layers, heads and experts: whole numbers.
  [[nodiscard]] std::int64_t number(LayerGroup group, std::int64_t full) const {
    return kept_width(full, share(group), 1);
  }

  /// @param structures of the full model, of which some go
  void tell(LayerGroup group, std::string full, std::string kept, double structures) {
    kept_.structures += structures;
    kept_.widths.push_back({group, share(group), std::move(full), std::move(kept)});
  }
  template <class Value>
  void write(const std::string& key, const Value& value) {
    kept_.changes.emplace_back(key, yaml_of(value));
  }

  /// Tells one number, that each of @p times has.
  void tell(LayerGroup group, std::int64_t full, std::int64_t kept, std::int64_t times = 1) {
    tell(group, fmt::format("{}", full), fmt::format("{}", kept), static_cast<double>(full * times));
  }

  /// Widths of a chain from @p first to the last but one.
  void narrow(LayerGroup group, std::vector<std::int64_t>& widths, std::size_t first) {
    const std::string full = text_of(widths);
    double structures = 0;
    for (std::size_t i = first; i + 1 < widths.size(); ++i) {
      structures += static_cast<double>(widths[i]);
      widths[i] = width(group, widths[i]);
    }
    tell(group, full, text_of(widths), structures);
  }

  KeptModel& kept() { return kept_; }

  [[nodiscard]] static std::string text_of(std::span<const std::int64_t> widths) {
    return fmt::format("{}", fmt::join(widths, "-"));
  }

 private:
  KeptModel kept_;
  const KeptShares& keep_;
  std::int64_t multiple_;
};

/// @throws FieldError unless @p parts divide @p number, with the nearest number up to @p most that they do
void expect_divides(LayerGroup group, std::int64_t number, std::int64_t parts, const std::string& who,
                    std::int64_t most);

}  // namespace lockstep
