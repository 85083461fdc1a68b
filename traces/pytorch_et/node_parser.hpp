#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "traces/pytorch_et/argument_reader.hpp"

namespace lockstep::pytorch_et {

/// A node as the file writes it, flat (1.0.1) or nested (1.0.2 and later). Empty: not in the file.
struct WrittenNode {
  std::string id, parent, name;
  ArgumentTexts inputs, outputs;
  /// rf_id, seq_id, ..., of `attrs` or of the node itself; strings without quotes.
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<std::string> unknown;  ///< members of no schema

  /// -1 where it is missing or no whole number.
  [[nodiscard]] std::int64_t number(std::string_view attribute) const;
  [[nodiscard]] std::string text(std::string_view attribute) const;
};

/// Parses nodes, one after the other, into the same memory.
class NodeParser {
 public:
  NodeParser();
  ~NodeParser();
  NodeParser(const NodeParser&) = delete;
  NodeParser& operator=(const NodeParser&) = delete;

  /// @param element one JSON object; gets room behind it
  /// @return null: it is not JSON
  [[nodiscard]] const WrittenNode* parse(std::string& element);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::pytorch_et
