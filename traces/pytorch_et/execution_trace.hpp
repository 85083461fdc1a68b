#pragma once

/// @file
/// A PyTorch execution trace (ExecutionTraceObserver): what operators one process called, with their
/// arguments but without times. Schemas 1.0.1 (flat) to 1.1.1 (nested, strides), with or without `-chakra`.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/import_report.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::pytorch_et {

using kineto::NameId;

/// A tensor as an argument. Ids tell tensors apart within a trace; what shares a storage shares memory.
struct TensorArgument {
  std::int64_t id = -1, storage = -1;
  std::int64_t offset = 0;  ///< into the storage, elements
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  NameId device = 0;                  ///< `cuda:0`, `cpu`, or empty
  NameId type = 0;                    ///< `float`, `long int`; `long` in later schemas
  std::uint32_t first_dimension = 0;  ///< of ExecutionTrace::dimensions; its strides follow its shape
  std::uint16_t rank = 0;
  bool has_strides = false;  ///< in elements; schema 1.1.1

  [[nodiscard]] double bytes() const {
    return static_cast<double>(elements) * static_cast<double>(element_bytes);
  }
};

/// An argument or a result of an operator: tensors (one, or those of a list) or anything else as text.
struct Argument {
  NameId type = 0;  ///< `Tensor(float)`, `GenericList[Int,Int]`, `None`, ...
  NameId text = 0;  ///< JSON text as written, of what has no tensors
  std::uint32_t first_tensor = 0, tensors = 0;
};

/// A collective in the words of `record_param_comms`.
struct CommunicationCall {
  std::string collective, type, group, group_description;
  std::int64_t in_elements = -1, out_elements = -1;  ///< of this rank; -1: not known
  std::int64_t group_size = -1, rank_start = -1, rank_stride = -1;
  std::string in_splits, out_splits;  ///< elements by peer, JSON text
  bool from_arguments = false;  ///< read off the operator's arguments: before 1.1.0 nothing else says it
};

/// An operator, an annotation, a thread or the process. Order of ids is order of starts.
struct Node {
  std::int64_t id = -1, parent = -1;
  std::int64_t rf_id = -1;  ///< number of the call (RecordFunction), 0 where there is none
  std::int64_t sequence = -1, forward_parent = 0;
  std::int32_t scope = 0;  ///< 0 function, 1 backward function, 7 user annotation (RecordScope)
  std::int32_t thread = 0, forward_thread = 0;
  NameId name = 0, schema = 0, kernel_backend = 0, kernel_file = 0, tensor_range = 0;
  std::uint32_t first_input = 0, inputs = 0, first_output = 0, outputs = 0;
  std::int32_t communication = -1;  ///< index into ExecutionTrace::communications
};

struct ExecutionTrace {
  std::string file, schema, time;
  std::int64_t pid = -1;
  std::int64_t start = -1, finish = -1;  ///< `start_ts`, `finish_ts`: of another clock than Kineto's
  kineto::NameTable names;
  std::vector<Node> nodes;  ///< by id
  std::vector<Argument> arguments;
  std::vector<TensorArgument> tensors;
  std::vector<std::int64_t> dimensions;
  std::vector<CommunicationCall> communications;
  std::vector<kineto::ProcessGroupEntry> groups;
  ImportReport report;

  [[nodiscard]] std::span<const Argument> inputs(const Node& node) const {
    return std::span{arguments}.subspan(node.first_input, node.inputs);
  }
  [[nodiscard]] std::span<const Argument> outputs(const Node& node) const {
    return std::span{arguments}.subspan(node.first_output, node.outputs);
  }
  [[nodiscard]] std::span<const TensorArgument> tensors_of(const Argument& argument) const {
    return std::span{tensors}.subspan(argument.first_tensor, argument.tensors);
  }
  [[nodiscard]] std::span<const std::int64_t> shape(const TensorArgument& tensor) const {
    return std::span{dimensions}.subspan(tensor.first_dimension, tensor.rank);
  }
  /// Empty where the schema has none.
  [[nodiscard]] std::span<const std::int64_t> strides(const TensorArgument& tensor) const {
    return std::span{dimensions}.subspan(tensor.first_dimension + tensor.rank,
                                         tensor.has_strides ? tensor.rank : 0);
  }
  /// Index of the node with an id, or -1.
  [[nodiscard]] std::int64_t index_of(std::int64_t id) const;
};

/// The roots: the process and its threads.
[[nodiscard]] bool is_root(std::string_view node_name);

}  // namespace lockstep::pytorch_et
