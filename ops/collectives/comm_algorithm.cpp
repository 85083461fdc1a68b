#include "ops/collectives/comm_algorithm.hpp"

#include <stdexcept>

#include "ops/collectives/direct.hpp"
#include "ops/collectives/hierarchical.hpp"
#include "ops/collectives/nvls.hpp"
#include "ops/collectives/nvls_tree.hpp"
#include "ops/collectives/pat.hpp"
#include "ops/collectives/pxn.hpp"
#include "ops/collectives/ring.hpp"
#include "ops/collectives/tree.hpp"

namespace lockstep {

std::span<const CommAlgorithmRow> algorithm_table() {
  static const std::array rows{kRing, kTree, kDirect, kHierarchical, kNvls, kNvlsTree, kPxn, kPat};
  return rows;
}

const CommAlgorithmRow& row_of(CommAlgorithm algorithm) {
  for (const CommAlgorithmRow& row : algorithm_table()) {
    if (row.id == algorithm) {
      return row;
    }
  }
  throw std::logic_error("row_of: unknown CommAlgorithm");
}

}  // namespace lockstep
