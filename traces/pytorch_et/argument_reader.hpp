#pragma once

#include <string>
#include <string_view>

#include "traces/pytorch_et/execution_trace.hpp"
#include "traces/pytorch_et/nested_list.hpp"

namespace lockstep::pytorch_et {

/// The arguments of a node as the file writes them: JSON lists, side by side. Empty: not in the file.
struct ArgumentTexts {
  std::string values, shapes, types, strides;
};

/// Arguments and their tensors into the tables of a trace.
class ArgumentReader {
 public:
  explicit ArgumentReader(ExecutionTrace& trace) : trace_{trace} {}

  /// Appends to trace.arguments. Lists that do not fit together are in the report.
  /// @param node its name, for the report
  /// @return how many
  [[nodiscard]] std::uint32_t read(const ArgumentTexts& texts, std::string_view node);

 private:
  struct Place {
    std::uint32_t value = 0;
    std::int64_t shape = -1, strides = -1;  ///< items, -1: none
  };
  void take(std::string_view type, const Place& place, int depth);
  void take_tensor(std::string_view type, const Place& place);
  [[nodiscard]] static std::vector<std::int64_t> numbers(const NestedList& list, std::int64_t item);

  ExecutionTrace& trace_;
  NestedList values_, shapes_, types_, strides_;
};

}  // namespace lockstep::pytorch_et
