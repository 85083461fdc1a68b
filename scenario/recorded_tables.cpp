#include "scenario/recorded_tables.hpp"

#include "base/yaml_node.hpp"

namespace lockstep {
namespace {

/// Tables as a model's, without a model around them.
DlrmSpec dlrm_of(const std::vector<TableGroupSpec>& tables) {
  DlrmSpec made;
  made.bottom_mlp = {1, 1};
  made.top_mlp = {1};
  made.tables = tables;
  made.interaction = Interaction::Concatenate;
  return made;
}

}  // namespace

std::optional<YamlNode> RecordedTables::long_form(const YamlNode& scalar, const ConfigPath& /*configs*/) {
  YamlNode recorded = yaml_node(YamlNode::Kind::Mapping, scalar.at);
  recorded.entries.push_back({"model", scalar.at, scalar});
  return recorded;
}

void RecordedTables::check() const {
  if (model.has_value() == !tables.empty()) {
    throw FieldError{"tables", "say one of 'model', e.g. dlrm_mlperf, and 'tables'"};
  }
  if (model && !(*model)->dlrm) {
    throw FieldError{"model", "has no embedding tables: say a DLRM, e.g. dlrm_mlperf"};
  }
  if (!model) {
    dlrm_of(tables).check();
  }
}

std::vector<EmbeddingTable> RecordedTables::all_tables() const {
  return model ? (*model)->dlrm->all_tables() : dlrm_of(tables).all_tables();
}

}  // namespace lockstep
