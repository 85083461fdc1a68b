#pragma once

#include <span>
#include <string>
#include <utility>

namespace lockstep::testing {

/// The kind of the first part that occurs in a kernel's name, the name itself where none does.
inline std::string first_kind(const std::string& kernel,
                              std::span<const std::pair<const char*, const char*>> kinds) {
  for (const auto& [part, kind] : kinds) {
    if (kernel.find(part) != std::string::npos) {
      return kind;
    }
  }
  return kernel;
}

/// `Memset` and `splitKreduce` are cuBLAS's and the reduction's own choice, by shape and GPU: our GEMM and
/// reduction models hold them in their duration, so lists leave them out.
inline bool is_library_choice(const std::string& kernel) {
  return kernel.find("Memset") != std::string::npos || kernel.find("splitKreduce") != std::string::npos;
}

}  // namespace lockstep::testing
