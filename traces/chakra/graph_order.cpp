#include "traces/chakra/graph_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace lockstep::chakra {
namespace {

using Order = std::vector<std::uint32_t>;  // by new place: old place

/// The nodes of @p graph in another order; dependencies still name old places.
template <class Dependency>
void permute(TraceGraph& graph, std::vector<Dependency>& dependencies, const Order& order) {
  const TraceGraph old = graph;
  const std::vector<Dependency> old_dependencies = dependencies;
  dependencies.clear();
  graph.first_dependency.assign(1, 0);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::uint32_t from = order[place];
    graph.ids[place] = old.ids[from];
    graph.what[place] = old.what[from];
    graph.microseconds[place] = old.microseconds[from];
    if (!old.operations.empty()) {
      graph.operations[place] = old.operations[from];
      graph.bytes[place] = old.bytes[from];
    }
    dependencies.insert(dependencies.end(), old_dependencies.begin() + old.first_dependency[from],
                        old_dependencies.begin() + old.first_dependency[from + 1]);
    graph.first_dependency.push_back(static_cast<std::uint32_t>(dependencies.size()));
  }
}

void sort_by_id(TraceGraph& graph, std::vector<std::uint64_t>& wanted) {
  Order order(graph.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return graph.ids[a] < graph.ids[b]; });
  permute(graph, wanted, order);
  const auto twice = std::adjacent_find(graph.ids.begin(), graph.ids.end());
  if (twice != graph.ids.end()) {
    throw std::invalid_argument{fmt::format("two nodes have the id {}", *twice)};
  }
}

/// The place of @p id in ascending @p ids, or their number. Mostly ids have no gaps.
std::uint32_t place_of(std::uint64_t id, const std::vector<std::uint64_t>& ids) {
  const std::uint64_t guess = ids.empty() ? 0 : id - ids.front();
  if (guess < ids.size() && ids[guess] == id) {
    return static_cast<std::uint32_t>(guess);
  }
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  return static_cast<std::uint32_t>((found != ids.end() && *found == id ? found : ids.end()) - ids.begin());
}

/// Ids into places; those of no node are counted. @return whether every node comes after all that it depends
/// on
bool resolve(TraceGraph& graph, const std::vector<std::uint64_t>& wanted,
             const std::vector<std::uint64_t>& without_work) {
  bool in_order = true;
  std::vector<std::uint32_t>& places = graph.dependencies;
  places.clear();
  std::uint32_t next = 0;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const std::uint32_t last = graph.first_dependency[node + 1];
    for (; next < last; ++next) {
      const std::uint32_t place = place_of(wanted[next], graph.ids);
      if (place < graph.size()) {
        places.push_back(place);
        in_order = in_order && place < node;
      } else if (!std::binary_search(without_work.begin(), without_work.end(), wanted[next])) {
        if (graph.missing++ == 0) {
          graph.missing_of = graph.ids[node];
          graph.missing_id = wanted[next];
        }
      }
    }
    graph.first_dependency[node + 1] = static_cast<std::uint32_t>(places.size());
  }
  return in_order;
}

/// @p waits by node: how many of its dependencies have not been issued; some node has one.
[[noreturn]] void reject_circle(const TraceGraph& graph, const std::vector<std::uint32_t>& waits) {
  constexpr std::size_t kMostShown = 8;
  auto node = static_cast<std::uint32_t>(
      std::find_if(waits.begin(), waits.end(), [](std::uint32_t n) { return n > 0; }) - waits.begin());
  std::vector<std::uint32_t> path;
  auto again = path.end();
  for (; (again = std::find(path.begin(), path.end(), node)) == path.end();) {
    path.push_back(node);
    const auto* first = graph.dependencies.data() + graph.first_dependency[node];
    node = *std::find_if(first, graph.dependencies.data() + graph.first_dependency[node + 1],
                         [&](std::uint32_t needed) { return waits[needed] > 0; });
  }
  path.erase(path.begin(), again);
  std::string text;
  for (std::size_t i = 0; i < std::min(path.size(), kMostShown); ++i) {
    text += fmt::format("{} -> ", graph.ids[path[i]]);
  }
  text += path.size() > kMostShown ? fmt::format("... ({} nodes) -> ", path.size()) : "";
  throw std::invalid_argument{fmt::format(
      "nodes depend on each other in a circle, so that none can begin: {}{}", text, graph.ids[path.front()])};
}

/// Issues always the node with the lowest id among those that can be issued (Kahn's algorithm).
Order issue_order(const TraceGraph& graph) {
  std::vector<std::uint32_t> waits(graph.size());
  std::vector<std::uint32_t> first_user(graph.size() + 1, 0);
  for (const std::uint32_t needed : graph.dependencies) {
    ++first_user[needed + 1];
  }
  std::partial_sum(first_user.begin(), first_user.end(), first_user.begin());
  std::vector<std::uint32_t> users(graph.dependencies.size());
  std::vector<std::uint32_t> filled = first_user;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t node = 0; node < graph.size(); ++node) {
    const std::uint32_t last = graph.first_dependency[node + 1];
    waits[node] = last - graph.first_dependency[node];
    for (std::uint32_t i = graph.first_dependency[node]; i < last; ++i) {
      users[filled[graph.dependencies[i]]++] = node;
    }
    if (waits[node] == 0) {
      ready.push(node);
    }
  }
  Order order;
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (std::uint32_t i = first_user[node]; i < first_user[node + 1]; ++i) {
      if (--waits[users[i]] == 0) {
        ready.push(users[i]);
      }
    }
  }
  if (order.size() < graph.size()) {
    reject_circle(graph, waits);
  }
  return order;
}

}  // namespace

void put_in_order(TraceGraph& graph, const std::vector<std::uint64_t>& wanted,
                  const std::vector<std::uint64_t>& without_work) {
  const bool ascending =
      std::adjacent_find(graph.ids.begin(), graph.ids.end(), std::greater_equal<>{}) == graph.ids.end();
  std::vector<std::uint64_t> sorted;
  if (!ascending) {
    sorted = wanted;
    sort_by_id(graph, sorted);
  }
  if (resolve(graph, ascending ? wanted : sorted, without_work)) {
    return;
  }
  reorder(graph, issue_order(graph));
}

void reorder(TraceGraph& graph, const std::vector<std::uint32_t>& order) {
  permute(graph, graph.dependencies, order);
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
  }
  for (std::uint32_t& dependency : graph.dependencies) {
    dependency = place[dependency];
  }
}

}  // namespace lockstep::chakra
