#include "traces/pytorch_et/kineto_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "traces/pytorch_et/kineto_link.hpp"

namespace lockstep::pytorch_et {
namespace {

std::string shape_text(const ExecutionTrace& trace, const TensorArgument& tensor) {
  return fmt::format("[{}]", fmt::join(trace.shape(tensor), ","));
}

/// The arguments of an operator as three JSON lists.
struct Texts {
  std::string dims = "[", types = "[", values = "[";

  void add(std::string_view dim, const std::string& type, const std::string& value) {
    const char* const comma = dims.size() > 1 ? "," : "";
    dims += fmt::format("{}{}", comma, dim);
    types += fmt::format("{}{}", comma, nlohmann::json(type).dump());
    values += fmt::format("{}{}", comma, nlohmann::json(value).dump());
  }
  void close() {
    dims += "]";
    types += "]";
    values += "]";
  }
};

void add_argument(const ExecutionTrace& trace, const Argument& argument, Texts& texts) {
  const auto tensors = trace.tensors_of(argument);
  const std::string& type = trace.names.text(argument.type);
  if (type.starts_with("GenericList") && !tensors.empty()) {
    std::string shapes;
    for (const TensorArgument& tensor : tensors) {
      shapes += (shapes.empty() ? "" : ",") + shape_text(trace, tensor);
    }
    const std::string& of = trace.names.text(tensors.front().type);
    texts.add(fmt::format("[{}]", shapes), fmt::format("TensorList({})", of), "");
  } else if (tensors.size() == 1) {
    texts.add(shape_text(trace, tensors.front()), trace.names.text(tensors.front().type), "");
  } else {
    texts.add("[]", type.starts_with("GenericList") ? "ScalarList" : "Scalar",
              trace.names.text(argument.text));
  }
}

constexpr double kLeastConfidence = 0.5;  // those of one step have nearly 1

/// Kineto writes a list of tensors as an empty one.
bool lacks_shapes(const kineto::RecordedTrace& profile, const kineto::Operator& op) {
  return op.input_dims == 0 || profile.names.text(op.input_types).find("\"TensorList\"") != std::string::npos;
}

bool lacks_values(const kineto::RecordedTrace& profile, const kineto::Operator& op, const Texts& texts) {
  return op.concrete_inputs == 0 &&
         nlohmann::json::parse(profile.names.text(op.input_dims), nullptr, false) ==
             nlohmann::json::parse(texts.dims, nullptr, false);
}

}  // namespace

std::uint64_t add_arguments(kineto::RecordedTrace& profile, const ExecutionTrace& trace) {
  const KinetoLink link = link_to_kineto(trace, profile, profile.report);
  if (link.confidence() < kLeastConfidence) {
    throw InputError{
        {trace.file},
        fmt::format("not the execution trace of the step that {} profiles: {} of its {} nodes are "
                    "found there, confidence {:.2f}",
                    profile.file, link.linked_nodes, link.nodes, link.confidence())};
  }
  std::uint64_t added = 0;
  for (std::size_t i = 0; i < profile.operators.size() && i < link.node_of.size(); ++i) {
    kineto::Operator& op = profile.operators[i];
    const bool lacks = lacks_shapes(profile, op);
    if (link.node_of[i] < 0 || (!lacks && op.concrete_inputs != 0)) {
      continue;
    }
    const Node& node = trace.nodes[static_cast<std::size_t>(link.node_of[i])];
    if (node.inputs == 0) {
      continue;
    }
    Texts texts;
    for (const Argument& argument : trace.inputs(node)) {
      add_argument(trace, argument, texts);
    }
    texts.close();
    if (lacks) {
      op.input_dims = profile.names.number(texts.dims);
      op.input_types = profile.names.number(texts.types);
    } else if (!lacks_values(profile, op, texts)) {
      continue;
    }
    op.concrete_inputs = profile.names.number(texts.values);
    ++added;
  }
  return added;
}

}  // namespace lockstep::pytorch_et
