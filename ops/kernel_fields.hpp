#pragma once

/// @file
/// A kernel's work as a kind and a list of numbers: what files hold, and what is fitted or rounded.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/kernel.hpp"

namespace lockstep {

/// One number of a kernel's work. Flags are 0 or 1, enumerations count from 0, sizes are in bytes, times in
/// seconds.
struct KernelField {
  std::string key;
  double value = 0;
  bool is_size = false;  ///< counts elements, rows, bytes; not a flag, a factor or a time
  bool operator==(const KernelField&) const = default;
};

/// `gemm`, `pointwise`, ...: the alternative of KernelWork.
[[nodiscard]] std::string_view kind_of(const KernelWork& work);

/// All numbers of @p work. Tables of embeddings are numbered: `rows.0`, `rows.1`, ...
[[nodiscard]] std::vector<KernelField> fields_of(const KernelWork& work);

/// The work that has them: the inverse of kind_of() and fields_of(). A field that is not given keeps its
/// default.
/// @throws std::invalid_argument for a kind or a key that is not known, or a number that a field cannot hold
[[nodiscard]] KernelWork work_with(std::string_view kind, std::span<const KernelField> fields);

}  // namespace lockstep
