#include "synth/launch_rows.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "ops/kernel_fields.hpp"

namespace lockstep::synth {
namespace {

/// The first size of a kernel counts its elements.
double elements_of(const KernelEntry& kernel) {
  const std::vector<KernelField> fields = fields_of(kernel.call.work);
  const auto size = std::ranges::find(fields, true, &KernelField::is_size);
  return size == fields.end() ? 0 : size->value;
}

/// A kernel without its sizes.
struct Kind {
  std::size_t work = 0;
  DataType type = DataType::FP32;
  std::vector<double> numbers;
  std::uint8_t stream = 0;
  bool operator==(const Kind&) const = default;
};

class RowFinder {
 public:
  explicit RowFinder(const Template& tmpl) : tmpl_{tmpl} {}

  std::vector<LaunchRow> rows() && {
    for (std::size_t number = 0; number < tmpl_.body.size(); ++number) {
      const std::optional<Kind> kind = kind_of_all(tmpl_.body[number]);
      if (row_.launches.empty() || kind != kind_) {
        finish();
        row_.first = number;
        kind_ = kind;
      }
      if (kind) {
        row_.last = number + 1;
        add(tmpl_.body[number]);
      }
    }
    finish();
    return std::move(rows_);
  }

 private:
  /// The kind of the item's launches, if it has nothing else and all are alike.
  [[nodiscard]] std::optional<Kind> kind_of_all(const Item& item) const {
    if (item.body.empty()) return kind_of_launch(item.token);
    const std::optional<Kind> first = kind_of_all(item.body.front());
    const bool alike =
        std::ranges::all_of(item.body, [&](const Item& inner) { return kind_of_all(inner) == first; });
    return alike ? first : std::nullopt;
  }

  [[nodiscard]] std::optional<Kind> kind_of_launch(const Token& token) const {
    if (token.op != Opcode::Launch || token.per_rank) return std::nullopt;
    const KernelCall& call = tmpl_.kernels[token.operand].call;
    if (std::holds_alternative<Timed>(call.work)) return std::nullopt;
    Kind kind{call.work.index(), call.type, {}, token.stream};
    for (const KernelField& field : fields_of(call.work)) {
      if (!field.is_size) kind.numbers.push_back(field.value);
    }
    return kind;
  }

  void add(const Item& item) {
    if (item.body.empty()) {
      row_.launches.push_back(&item);
      return;
    }
    for (std::uint32_t time = 0; time < item.count; ++time) {
      for (const Item& inner : item.body) add(inner);
    }
  }

  void finish() {
    LaunchRow row = std::exchange(row_, {});
    if (row.launches.empty() || !is_filled(row) || has_bucket(row)) return;
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] bool is_filled(const LaunchRow& row) const {
    constexpr std::size_t kLeast = 3;
    constexpr double kFull = 0.9;
    if (row.launches.size() < kLeast) return false;
    std::vector<double> sizes;
    bool grows = false;
    for (const Item* launch : row.launches) {
      const KernelEntry& kernel = tmpl_.kernels[launch->token.operand];
      sizes.push_back(elements_of(kernel));
      grows = grows || (!kernel.sizes.empty() && kernel.sizes.front().with_parameters);
    }
    const double full = kFull * std::ranges::max(sizes);
    return grows &&
           std::ranges::all_of(sizes.begin(), sizes.end() - 1, [&](double size) { return size >= full; });
  }

  [[nodiscard]] bool has_bucket(const LaunchRow& row) const {
    return std::ranges::any_of(tmpl_.buckets, [&](const Bucket& bucket) {
      return bucket.item >= row.first && bucket.item < row.last;
    });
  }

  const Template& tmpl_;
  std::optional<Kind> kind_;
  LaunchRow row_;
  std::vector<LaunchRow> rows_;
};

}  // namespace

std::vector<LaunchRow> launch_rows(const Template& tmpl) {
  return RowFinder{tmpl}.rows();
}

void let_rows_grow(Template& tmpl) {
  for (const LaunchRow& row : launch_rows(tmpl)) {
    for (const Item* launch : row.launches) {
      KernelEntry& kernel = tmpl.kernels[launch->token.operand];
      kernel.sizes.front() = {elements_of(kernel), {}, true};
    }
  }
}

}  // namespace lockstep::synth
