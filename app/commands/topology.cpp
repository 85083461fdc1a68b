#include "app/commands/topology.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "app/result_folder.hpp"
#include "app/topology_json.hpp"
#include "app/topology_text.hpp"
#include "base/file.hpp"
#include "base/suggest.hpp"
#include "scenario/machine_called.hpp"
#include "scenario/opened_scenario.hpp"
#include "topology/render_dot.hpp"
#include "topology/render_svg.hpp"

namespace lockstep {
namespace {

VertexId vertex_called(const Fabric& fabric, const std::string& name) {
  const auto found = std::ranges::find(fabric.vertices(), name, &Vertex::name);
  if (found != fabric.vertices().end()) {
    return static_cast<VertexId>(found - fabric.vertices().begin());
  }
  std::vector<std::string> names;
  for (const Vertex& vertex : fabric.vertices()) {
    names.push_back(vertex.name);
  }
  const std::string meant = closest_word(name, names);
  throw std::invalid_argument{
      "--route: there is no '" + name + "' in this cluster" +
      (meant.empty() ? ", e.g. '" + names.front() + "' is" : " - did you mean '" + meant + "'?")};
}

}  // namespace

int topology_command(const TopologyOptions& options) {
  const Fabric fabric = machine_called(options.cluster, options.overrides);
  const std::string name = options.cluster == "-" ? kStandardInput : options.cluster;
  check_outputs({options.dot, options.svg, options.answer.json, options.answer.output});
  std::vector<AskedRoute> routes;
  for (const auto& [from, to] : options.routes) {
    routes.push_back({vertex_called(fabric, from), vertex_called(fabric, to), options.flow});
  }
  if (!options.dot.empty()) {
    write_whole_file(options.dot, to_dot(fabric));
  }
  if (!options.svg.empty()) {
    write_whole_file(options.svg, to_svg(fabric));
  }
  give_answer(options.answer, topology_text(name, fabric, routes),
              [&] { return topology_json(name, fabric, routes) + "\n"; });
  return 0;
}

void add_topology_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<TopologyOptions>();
  CLI::App* command = app.add_subcommand("topology", "show a cluster: devices, bandwidths, routes, drawings");
  command->footer(
      "examples:\n"
      "  lockstep topology dgx_a100\n"
      "  lockstep topology 'dgx_a100 x 4' --route node0.gpu0 node3.gpu5\n"
      "  lockstep topology drawn_ring --svg ring.svg\n"
      "  lockstep topology my_scenario.yaml                        the machine of a scenario, with its "
      "faults\n"
      "  lockstep topology '{ nodes: [dgx_a100 x 4], network: { shape: leaf_spine, nodes_per_leaf: 2 } }'");
  command
      ->add_option(
          "CLUSTER", options->cluster,
          "e.g. dgx_a100, 'dgx_a100 x 4', a name of configs/clusters, a scenario or its name, a file "
          "of a node or cluster, one in place: '{ nodes: [dgx_a100 x 4] }', or - for stdin")
      ->required();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  command->add_option("--set", *assignments, "KEY=VALUE: override a value of the scenario")
      ->allow_extra_args(false);
  command->add_option("--route", options->routes,
                      "show the route between two devices, e.g. node0.gpu0 node1.gpu3");
  command->add_option("--flow", options->flow, "which of parallel connections --route shows (default 0)");
  command->add_option("--dot", options->dot, "write a Graphviz file");
  command->add_option("--svg", options->svg, "write a picture");
  add_answer_options(*command, options->answer);
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return topology_command(*options);
    };
  });
}

}  // namespace lockstep
