#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {

/// An attribute with whichever value it has.
struct ProgramAttribute {
  std::string_view name;
  std::optional<double> number;
  std::string_view text;
  std::vector<std::string> texts;
  std::vector<double> numbers;  ///< of a list of double or uint64
};

/// Attributes of a node or of the metadata, by name.
class ProgramAttributes {
 public:
  void clear() { list_.clear(); }
  void add(std::string_view message);

  /// Null: there is none of that name.
  [[nodiscard]] const ProgramAttribute* find(std::string_view name) const;
  /// @throws WireError where it is missing or of another kind
  [[nodiscard]] const ProgramAttribute& at(std::string_view name) const;
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] double number_or(std::string_view name, double otherwise) const;
  /// @throws WireError unless it is a whole number from 0 to below @p bound
  [[nodiscard]] std::uint32_t index(std::string_view name, double bound) const;

 private:
  std::vector<ProgramAttribute> list_;
};

/// A node as far as a Program needs it. Views point into the record.
struct ProgramNode {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint64_t type = 0;
  std::uint64_t parent = 0;  ///< the first of ctrl_deps; 0: none
  ProgramAttributes attributes;
};

/// @throws WireError for no node
void read_program_node(std::string_view record, ProgramNode& node);

/// Reads the attributes of a first record. @throws WireError for no metadata
[[nodiscard]] ProgramAttributes read_metadata(std::string_view record);

}  // namespace lockstep::chakra
