#pragma once

/// @file
/// What GPU work does: one notion for comparisons, replays and their changes.

#include <string>
#include <string_view>
#include <vector>

#include "base/parameters.hpp"

namespace lockstep {

/// Kernels of one family, by their own names and by the operators that launch them.
struct KernelFamilyRow {
  std::string family;
  std::vector<std::string> kernels, operators;
  bool by_name_alone = false;
  std::string source;

  template <class Visitor>
  static void describe(Visitor& key, KernelFamilyRow& row) {
    key.required("family", row.family, "gemm, attention, communication, ..., or a word of your own");
    key.optional("kernels", row.kernels, {},
                 "parts of kernels' names, in any case; * stands for anything, ^ for the beginning");
    key.optional("operators", row.operators, {},
                 "whole names of operators that launch such kernels, in any case; * stands for anything");
    key.optional("by_name_alone", row.by_name_alone, false,
                 "kernels with these names are of the family whatever operator launched them: copies, fills");
    key.required("source", row.source, "who names them so: library and file, or a trace");
  }
  /// @throws std::invalid_argument for a row that finds nothing
  void check() const;
};

/// A list of families: configs/kernel_families/NAME.yaml.
struct KernelFamilyList {
  static constexpr const char* kConfigKind = "kernel_families";
  std::string name, source;
  std::vector<KernelFamilyRow> rows;

  template <class Visitor>
  static void describe(Visitor& key, KernelFamilyList& list) {
    key.optional("name", list.name, "", "what the list is called");
    key.optional("source", list.source, "", "where the list comes from");
    key.required("rows", list.rows, "the first row that fits says the family");
  }
};

/// Finds the family of a piece of GPU work. A list says it in this order:
///   1. rows by_name_alone, by the kernel's name     copies, fills, communication libraries
///   2. operators of all rows, by the launching one   aten::mm is gemm, whoever wrote the kernel
///   3. kernels of the other rows, by the name        what was launched outside of operators that are listed
/// The user's list is asked before the standard one. No row fits: `other`.
class KernelFamilies {
 public:
  /// @param own the user's rows; the standard list is configs/kernel_families/standard.yaml
  KernelFamilies(std::vector<KernelFamilyRow> own, std::vector<KernelFamilyRow> standard);

  static constexpr std::string_view kCommunication = "communication", kOther = "other";

  /// @param kernel name of a kernel, copy or fill
  /// @param launcher the innermost operator around its launch; empty: none, or not known
  [[nodiscard]] const std::string& of(std::string_view kernel, std::string_view launcher = {}) const;

  /// All families that a row names, and `other`; sorted.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::vector<KernelFamilyRow>> lists_;
  std::vector<std::string> names_;
};

/// The standard list alone, read once.
/// @throws InputError, std::invalid_argument where configs/kernel_families/standard.yaml cannot be read
[[nodiscard]] const KernelFamilies& standard_families();

/// The standard list behind @p own.
[[nodiscard]] KernelFamilies families_with(std::vector<KernelFamilyRow> own);

}  // namespace lockstep
