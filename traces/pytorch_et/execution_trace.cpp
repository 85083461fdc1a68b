#include "traces/pytorch_et/execution_trace.hpp"

#include <algorithm>

namespace lockstep::pytorch_et {

std::int64_t ExecutionTrace::index_of(std::int64_t id) const {
  const auto found = std::ranges::lower_bound(nodes, id, {}, &Node::id);
  return found != nodes.end() && found->id == id ? found - nodes.begin() : -1;
}

bool is_root(std::string_view node_name) {
  return node_name.starts_with("[pytorch|profiler|execution_");
}

}  // namespace lockstep::pytorch_et
