#pragma once

#include <string>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "search/embedding/sharding_problem.hpp"

namespace lockstep::test {

/// Items of `tables`: 40 MB, 8 MB, 8 kB and 8 kB in FP32.
inline constexpr const char* kFourTables =
    "{ rows: [100000], dimension: 100, pooling_factor: 40 }, "
    "{ rows: [50000], dimension: 40, pooling_factor: 10 }, "
    "{ rows: [100, 100], dimension: 20, pooling_factor: 2 }";

/// A DLRM with next to no dense part, for searches.
struct SmallDlrm {
  std::string tables = kFourTables;          ///< items of a YAML list
  std::string parallelism = "{ ranks: 2 }";  ///< a YAML mapping
  std::string cluster = "dgx1v x 1";
  int global_batch = 4096;
  std::string model;  ///< more keys of `dlrm`, each with a comma behind it
  std::string more;   ///< more of the document, whole lines
};

inline YamlDocument document_of(const SmallDlrm& of) {
  return YamlDocument::from_text(
      "name: small\ncluster: " + of.cluster + "\nworkload:\n  global_batch: " +
          std::to_string(of.global_batch) + "\n  model:\n    name: small\n    source: by hand\n    dlrm: { " +
          of.model + "bottom_mlp: [13, 64], top_mlp: [64, 1], interaction: cat, tables: [" + of.tables +
          "] }\nparallelism: " + of.parallelism + "\n" + of.more,
      "small.yaml");
}

inline ShardingProblem problem_of(const SmallDlrm& of) {
  return {document_of(of), ConfigPath::standard()};
}

}  // namespace lockstep::test
