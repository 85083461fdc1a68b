/// @file
/// The Python module `lockstep._core`: predictions in the caller's process, as JSON text. python/lockstep
/// makes dictionaries and exceptions of them.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/metrics_json.hpp"
#include "app/topology_json.hpp"
#include "app/version.hpp"
#include "base/error.hpp"
#include "base/yaml_document.hpp"
#include "scenario/machine_called.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/overrides.hpp"
#include "scenario/prediction.hpp"
#include "sim/stall.hpp"

namespace py = pybind11;

namespace lockstep {
namespace {

/// A scenario as text has its names resolved as if it stood in the working directory.
OpenedScenario opened(const std::string& scenario, bool is_text,
                      const std::vector<std::string>& assignments) {
  const std::vector<Override> overrides = overrides_of(assignments);
  if (!is_text) {
    return open_scenario(scenario, overrides);
  }
  const std::string name = "<scenario>";
  YamlDocument document = YamlDocument::from_text(scenario, name);
  for (const Override& each : overrides) {
    document.set(each.key_path, each.value);
  }
  return {name, ConfigPath::standard().beside("."), std::move(document)};
}

/// One prediction: actors without SimGrid's clock, which a process has once; times are the same to the bit.
std::string run(const std::string& scenario, bool is_text, const std::vector<std::string>& assignments) {
  const auto [path, configs, document] = opened(scenario, is_text, assignments);
  const ResolvedScenario resolved = build(document, configs);
  check_memory(resolved);
  return metrics_json(resolved, predict(resolved, nullptr, EngineMode::Bare));
}

std::string topology(const std::string& cluster) {
  return topology_json(cluster, machine_called(cluster, {}), {});
}

/// (file, line, column, message) of each problem.
py::list problems_of(const InputError& error) {
  py::list problems;
  for (const Problem& problem : error.problems()) {
    problems.append(
        py::make_tuple(problem.where.file, problem.where.line, problem.where.column, problem.message));
  }
  return problems;
}

void register_errors(py::module_& module) {
  static py::exception<InputError> input{module, "InputError", PyExc_ValueError};
  static py::exception<OutOfMemoryError> memory{module, "OutOfMemoryError", PyExc_MemoryError};
  static py::exception<StallError> stall{module, "StallError", PyExc_RuntimeError};
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const InputError& error) {
      py::object made = py::handle{input.ptr()}(error.what());
      made.attr("problems") = problems_of(error);
      PyErr_SetObject(input.ptr(), made.ptr());
    } catch (const OutOfMemoryError& error) {
      memory(error.what());
    } catch (const StallError& error) {
      stall(error.what());
    } catch (const std::invalid_argument& error) {
      py::object made = py::handle{input.ptr()}(error.what());
      made.attr("problems") = py::list{};
      PyErr_SetObject(input.ptr(), made.ptr());
    }
  });
}

}  // namespace
}  // namespace lockstep

PYBIND11_MODULE(_core, module) {
  using namespace lockstep;
  module.doc() = "Predictions as JSON text; use the package lockstep.";
  module.attr("version") = std::string{kVersion}.substr(std::string{kVersion}.find(' ') + 1);
  register_errors(module);
  module.def("run", &run, py::arg("scenario"), py::arg("is_text"), py::arg("assignments"),
             py::call_guard<py::gil_scoped_release>());
  module.def("topology", &topology, py::arg("cluster"), py::call_guard<py::gil_scoped_release>());
}
