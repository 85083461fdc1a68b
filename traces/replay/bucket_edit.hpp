#pragma once

#include <array>
#include <optional>

#include "base/parameters.hpp"
#include "base/units.hpp"

namespace lockstep::replay {

/// In which order gradients fill buckets, and buckets are sent.
enum class BucketOrder : std::uint8_t { Ready, Reversed };
constexpr auto names_of(BucketOrder /*unused*/) {
  return std::to_array<EnumName<BucketOrder>>(
      {{BucketOrder::Ready, "ready"}, {BucketOrder::Reversed, "reversed"}});
}

/// Other buckets for the gradients that data-parallel ranks all-reduce.
struct BucketEdit {
  Bytes size{0};
  std::optional<Bytes> first;
  BucketOrder order = BucketOrder::Ready;
  bool operator==(const BucketEdit&) const = default;

  template <class Visitor>
  static void describe(Visitor& key, BucketEdit& edit) {
    key.required(
        "size", edit.size,
        "a bucket is full, and sent, once it holds that much (PyTorch's bucket_cap_mb), e.g. 50 MiB");
    key.optional("first", edit.first, std::nullopt,
                 "the same of the first bucket of a step, e.g. 1 MiB as PyTorch; left out: 'size'");
    key.optional("order", edit.order, BucketOrder::Ready,
                 "ready: gradients fill buckets as they become ready; reversed: the other way round, as "
                 "PyTorch's first step where parameters are used in another order than they are declared");
  }
  void check() const {
    if (!(size > Bytes{0}) || (first && !(*first > Bytes{0}))) {
      throw FieldError{size > Bytes{0} ? "first" : "size", "a bucket holds more than 0 B"};
    }
  }
};

}  // namespace lockstep::replay
