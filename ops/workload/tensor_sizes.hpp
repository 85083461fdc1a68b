#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "ops/memory.hpp"
#include "ops/workload/precision.hpp"

namespace lockstep {

/// Bytes of a model's tensors by what they hold: the base of those who tell which of them are kept.
class TensorSizes {
 protected:
  TensorSizes(TensorTypes types, bool dropout) : types_{types}, dropout_{dropout} {}

  [[nodiscard]] Bytes narrow(std::int64_t elements) const {  ///< in the type of products
    return bytes(elements, storage_type(types_.precision));
  }
  [[nodiscard]] Bytes model(std::int64_t elements) const {  ///< in that of the model
    return bytes(elements, types_.model());
  }
  [[nodiscard]] static Bytes wide(std::int64_t elements) { return bytes(elements, DataType::FP32); }
  [[nodiscard]] Bytes mask(std::int64_t elements) const {  ///< of a dropout; nothing without
    return dropout_ ? bytes(elements, DataType::BOOL) : Bytes{0};
  }
  /// Drops the sizes of tensors that hold nothing.
  static Tensors tensors(std::initializer_list<Bytes> sizes) {
    Tensors all;
    std::ranges::copy_if(sizes, std::back_inserter(all), [](Bytes size) { return size > Bytes{0}; });
    return all;
  }
  static void append(Tensors& all, const Tensors& more) { all.insert(all.end(), more.begin(), more.end()); }
  static void append(Tensors& all, std::initializer_list<Bytes> sizes) { append(all, tensors(sizes)); }

  TensorTypes types_;
  bool dropout_;

 private:
  [[nodiscard]] static Bytes bytes(std::int64_t elements, DataType type) {
    return static_cast<double>(elements) * size_of(type);
  }
};

}  // namespace lockstep
