#pragma once

#include <optional>
#include <vector>

#include "base/named.hpp"
#include "base/parameters.hpp"
#include "ops/workload/model_spec.hpp"

namespace lockstep {

/// Embedding tables of a recorded job: those of a model, or a list; `NAME` stands for `{ model: NAME }`.
struct RecordedTables {
  std::optional<Named<ModelSpec>> model;
  std::vector<TableGroupSpec> tables;

  template <class Visitor>
  static void describe(Visitor& key, RecordedTables& recorded) {
    key.optional("model", recorded.model, std::nullopt,
                 "the model whose tables they are, a name of configs/models");
    key.optional("tables", recorded.tables, {}, "groups of tables, where no model has them");
  }

  static std::optional<YamlNode> long_form(const YamlNode& scalar, const ConfigPath& configs);
  void check() const;

  /// All of them, in order.
  [[nodiscard]] std::vector<EmbeddingTable> all_tables() const;
};

}  // namespace lockstep
