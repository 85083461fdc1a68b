#include "traces/replay/recorded_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "traces/pytorch_et/python_text.hpp"

namespace lockstep::replay {
namespace {

using chakra::ArgumentLists;
using chakra::NodePlace;
using chakra::OperatorNote;
using pytorch_et::Argument;
using pytorch_et::ExecutionTrace;
using pytorch_et::python_quoted;
using pytorch_et::python_text;
using pytorch_et::TensorArgument;

/// Entries of a Python list.
class PythonList {
 public:
  void add(std::string_view entry) {
    text_ += text_.size() > 1 ? ", " : "";
    text_ += entry;
  }
  [[nodiscard]] std::string text() const { return text_ + "]"; }

 private:
  std::string text_ = "[";
};

/// `[id, storage, offset, elements, bytes an element, 'device']`, as PyTorch writes a tensor.
std::string value_of(const ExecutionTrace& trace, const TensorArgument& tensor) {
  return fmt::format("[{}, {}, {}, {}, {}, {}]", tensor.id, tensor.storage, tensor.offset, tensor.elements,
                     tensor.element_bytes, python_quoted(trace.names.text(tensor.device)));
}

std::string shape_of(const ExecutionTrace& trace, const TensorArgument& tensor) {
  return fmt::format("[{}]", fmt::join(trace.shape(tensor), ", "));
}

ArgumentLists lists_of(const ExecutionTrace& trace, std::span<const Argument> arguments) {
  PythonList values;
  PythonList shapes;
  PythonList types;
  for (const Argument& argument : arguments) {
    const auto tensors = trace.tensors_of(argument);
    const std::string& type = trace.names.text(argument.type);
    types.add(python_quoted(type));
    if (tensors.size() == 1 && !type.starts_with("GenericList")) {
      values.add(value_of(trace, tensors.front()));
      shapes.add(shape_of(trace, tensors.front()));
      continue;
    }
    PythonList all_values;
    PythonList all_shapes;
    for (const TensorArgument& tensor : tensors) {
      all_values.add(value_of(trace, tensor));
      all_shapes.add(shape_of(trace, tensor));
    }
    values.add(tensors.empty() ? python_text(trace.names.text(argument.text)) : all_values.text());
    shapes.add(all_shapes.text());
  }
  return {values.text(), shapes.text(), types.text()};
}

OperatorNote note_of(const ExecutionTrace& trace, const pytorch_et::Node& node) {
  OperatorNote note;
  note.inputs = lists_of(trace, trace.inputs(node));
  note.outputs = lists_of(trace, trace.outputs(node));
  note.numbers = {{"rf_id", node.rf_id},
                  {"fw_parent", node.forward_parent},
                  {"seq_id", node.sequence},
                  {"scope", node.scope},
                  {"fw_tid", node.forward_thread}};
  note.schema = trace.names.text(node.schema);
  note.source = "execution trace";
  return note;
}

/// The note of a profile with record_shapes; its scalars are `Concrete Inputs`.
std::optional<OperatorNote> note_of(const kineto::RecordedTrace& trace, const kineto::Operator& op) {
  if (op.input_types == 0) {
    return std::nullopt;
  }
  OperatorNote note;
  const auto list = [&](kineto::NameId text) {
    return text == 0 ? "[]" : python_text(trace.names.text(text));
  };
  note.inputs = {list(op.concrete_inputs), list(op.input_dims), list(op.input_types)};
  if (op.record_function_id >= 0) {
    note.numbers.emplace_back("rf_id", op.record_function_id);
  }
  if (op.sequence_number >= 0) {
    note.numbers.emplace_back("seq_id", op.sequence_number);
  }
  note.source = "profile";
  return note;
}

}  // namespace

RecordedNotes::RecordedNotes(const Replay& replay, std::span<const ExecutionTrace> execution_traces)
    : replay_{replay}, execution_traces_{execution_traces} {
  if (!execution_traces.empty() && execution_traces.size() != replay.ranks.size()) {
    throw std::invalid_argument{fmt::format("{} execution traces for {} profiles: one for each is needed",
                                            execution_traces.size(), replay.ranks.size())};
  }
  for (std::size_t i = 0; i < execution_traces.size(); ++i) {
    ImportReport known;  // who read the traces has it already
    links_.push_back(pytorch_et::link_to_kineto(execution_traces[i], replay.ranks[i].trace, known));
  }
  for (const RankRecording& rank : replay.ranks) {
    auto& of_work = collectives_.emplace_back(rank.trace.work.size(), kNone);
    for (std::uint32_t i = 0; i < rank.collectives.size(); ++i) {
      of_work[rank.collectives[i].work] = i;
    }
  }
}

chakra::NodeNotes RecordedNotes::notes() const {
  return {[this](const NodePlace& place) { return of_range(place); },
          [this](const NodePlace& place) { return of_launch(place); }};
}

std::optional<OperatorNote> RecordedNotes::of_range(const NodePlace& place) const {
  const std::uint32_t op = replay_.programs[place.program].subjects[place.thread][place.instruction];
  const kineto::RecordedTrace& trace = replay_.ranks[place.program].trace;
  if (place.program < links_.size() && op < links_[place.program].node_of.size()) {
    const std::int64_t node = links_[place.program].node_of[op];
    const ExecutionTrace& linked = execution_traces_[place.program];
    if (node >= 0) {
      return note_of(linked, linked.nodes[static_cast<std::size_t>(node)]);
    }
  }
  return note_of(trace, trace.operators[op]);
}

std::optional<chakra::CommunicationNote> RecordedNotes::of_launch(const NodePlace& place) const {
  const RankRecording& rank = replay_.ranks[place.program];
  const std::uint32_t work = replay_.programs[place.program].subjects[place.thread][place.instruction];
  if (collectives_[place.program][work] == kNone) {
    return std::nullopt;
  }
  const RecordedCollective& collective = rank.collectives[collectives_[place.program][work]];
  chakra::CommunicationNote note{collective.kind, std::nullopt};
  if (collective.size >= 0) {
    const std::int32_t said = rank.trace.work[work].communication;
    const std::int64_t group =
        said >= 0 ? rank.trace.communications[static_cast<std::size_t>(said)].group_size : -1;
    const auto traces = static_cast<std::int64_t>(replay_.ranks.size());
    const std::int64_t members = group > 0 ? group : std::max(rank.trace.world_size, traces);
    const bool gathers = collective.kind == CollectiveKind::AllGather;
    note.rank_bytes = collective.size / (gathers ? static_cast<double>(members) : 1.0);
  }
  return note;
}

}  // namespace lockstep::replay
