#include "traces/chakra/converted_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "traces/chakra/attribute_value.hpp"
#include "traces/chakra/converted_json.hpp"
#include "traces/chakra/record_reader.hpp"
#include "traces/chakra/wire_reader.hpp"
#include "traces/pytorch_et/communication_call.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::chakra {
namespace {

using Type = WireReader::Type;

struct NamedValue : AttributeValue {
  std::string_view name;
};

NamedValue named_value(std::string_view bytes) {
  NamedValue attribute;
  WireReader message{bytes};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    if (field.number() == 1) {
      WireReader::expect(field, Type::Length);
      attribute.name = message.bytes();
    } else {
      read_attribute_value(message, field, attribute);
    }
  }
  return attribute;
}

void take_numbers(WireReader& message, WireReader::Field field, std::vector<std::uint64_t>& numbers) {
  if (field.type() == Type::Varint) {
    numbers.push_back(message.varint());
    return;
  }
  WireReader::expect(field, Type::Length);
  WireReader packed{message.bytes()};
  while (!packed.done()) {
    numbers.push_back(packed.varint());
  }
}

/// Field 1 of IOInfo: the values.
std::string_view values_of(std::string_view bytes) {
  WireReader message{bytes};
  std::string_view values;
  while (!message.done()) {
    const WireReader::Field field = message.field();
    if (field.number() == 1 && field.type() == Type::Length) {
      values = message.bytes();
    } else {
      message.skip(field.type());
    }
  }
  return values;
}

NodeType type_of(std::uint64_t number) {
  constexpr auto kLast = static_cast<std::uint64_t>(NodeType::Collective);
  return number <= kLast ? static_cast<NodeType>(number) : NodeType::Invalid;
}

/// @param inputs gets the values of the node's inputs
ConvertedNode node_of(std::string_view record, std::string_view& inputs) {
  ConvertedNode node;
  WireReader message{record};
  const auto number = [&](WireReader::Field field) {
    WireReader::expect(field, Type::Varint);
    return message.varint();
  };
  while (!message.done()) {
    const WireReader::Field field = message.field();
    switch (field.number()) {
      case 1:
        node.id = number(field);
        break;
      case 2:
        WireReader::expect(field, Type::Length);
        node.name = message.bytes();
        break;
      case 3:
        node.type = type_of(number(field));
        break;
      case 4:
        take_numbers(message, field, node.control);
        break;
      case 5:
        take_numbers(message, field, node.data);
        break;
      case 7:
        node.microseconds = static_cast<double>(number(field));
        break;
      case 8:
        WireReader::expect(field, Type::Length);
        inputs = values_of(message.bytes());
        break;
      case 10: {
        WireReader::expect(field, Type::Length);
        const NamedValue value = named_value(message.bytes());
        take_attribute(value.name, value.number, value.text, node);
        break;
      }
      default:
        message.skip(field.type());
    }
  }
  return node;
}

/// `schema` of a metadata record; empty where there is none.
std::string schema_of(std::string_view record) {
  WireReader message{record};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    if (field.number() == 2 && field.type() == Type::Length) {
      if (const NamedValue value = named_value(message.bytes()); value.name == "schema") {
        return std::string{value.text};
      }
    } else {
      message.skip(field.type());
    }
  }
  return "";
}

ConvertedTrace read_wire(const std::filesystem::path& path) {
  RecordReader file{path};
  std::string_view record;
  ConvertedTrace trace;
  trace.file = path.string();
  if (!file.next(record) || !is_metadata(record)) {
    file.reject("no Chakra execution trace: the file does not begin with metadata");
  }
  try {
    trace.schema = schema_of(record);
    while (file.next(record)) {
      std::string_view inputs;
      trace.nodes.push_back(node_of(record, inputs));
      if (trace.nodes.back().name == pytorch_et::kGroupsNode) {
        take_initial_groups(trace.nodes.back(), inputs, trace);
      }
    }
  } catch (const WireError& problem) {
    file.reject(fmt::format("the record is no node of a Chakra trace: {}", problem.what()));
  }
  return trace;
}

bool is_of_a_recording(const ConvertedNode& node) {
  return node.is_cpu || node.thread || node.stream || node.name == pytorch_et::kGroupsNode;
}

/// Messages, copies, and nodes of operations or bytes alone.
bool needs_a_machine(const ConvertedNode& node) {
  return node.type == NodeType::Send || node.type == NodeType::Receive || node.type == NodeType::MemLoad ||
         node.type == NodeType::MemStore ||
         (node.type == NodeType::Compute && node.microseconds == 0 && node.operations + node.bytes > 0);
}

/// Whether a node runs on a host thread or a stream, as what was recorded does: converters of lists of steps
/// (MSCCL's) state PyTorch's schema, too.
bool is_recorded(RecordReader& file) {
  std::string_view record;
  while (file.next(record)) {
    std::string_view inputs;
    const ConvertedNode node = node_of(record, inputs);
    if (is_of_a_recording(node)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void take_attribute(std::string_view name, std::optional<double> number, std::string_view text,
                    ConvertedNode& node) {
  if (!number && !text.empty()) {
    double parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    number = error == std::errc{} && end == text.data() + text.size() ? std::optional{parsed} : std::nullopt;
  }
  if (name == "is_cpu_op") {
    node.is_cpu = number.value_or(text == "true" || text == "True" ? 1 : 0) != 0;
  } else if (name == "tid") {
    node.thread = number;
  } else if (name == "stream") {
    node.stream = number;
  } else if (name == "comm_type") {
    node.comm_type = number;
  } else if (name == "comm_size") {
    node.comm_size = number;
  } else if (name == "comm_src") {
    node.source = number;
  } else if (name == "comm_dst") {
    node.target = number;
  } else if (name == "comm_tag") {
    node.tag = number;
  } else if (name == "num_ops") {
    node.operations = number.value_or(0);
  } else if (name == "tensor_size") {
    node.bytes = number.value_or(0);
  } else if (name == "pg_name") {
    node.group = text.empty() && number ? fmt::format("{}", *number) : std::string{text};
  }
}

void take_initial_groups(const ConvertedNode& node, std::string_view values, ConvertedTrace& trace) {
  const std::size_t open = values.find('\'');
  const std::size_t close = values.rfind('\'');
  if (node.type != NodeType::Metadata || open == close) {
    return;
  }
  for (auto& made : pytorch_et::initial_groups(values.substr(open + 1, close - open - 1), trace.report)) {
    trace.groups.push_back(std::move(made.group));
  }
}

ConvertedTrace read_converted(const std::filesystem::path& path) {
  return is_json_trace(path) ? read_converted_json(path) : read_wire(path);
}

bool is_json_trace(const std::filesystem::path& path) {
  UnpackedBlocks blocks{path.string()};
  const std::string_view block = blocks.next();
  const std::size_t first = block.find_first_not_of(" \t\r\n");
  // 0x7b is also the length of a record of 123 bytes; its field 1 or 2 would follow.
  const std::size_t second = block.find_first_not_of(" \t\r\n", first + 1);
  return first != std::string_view::npos && second != std::string_view::npos && block[first] == '{' &&
         (block[second] == '"' || block[second] == '}');
}

bool is_converted(const std::filesystem::path& path) {
  const bool is_json = is_json_trace(path);
  try {
    if (is_json) {
      const std::vector<ConvertedNode> nodes = read_converted_json(path).nodes;
      return std::ranges::any_of(nodes, is_of_a_recording) || std::ranges::none_of(nodes, needs_a_machine);
    }
    RecordReader file{path};
    std::string_view record;
    if (!file.next(record) || !is_metadata(record)) {
      return false;
    }
    const std::string schema = schema_of(record);
    return schema.size() > 1 && schema[0] >= '0' && schema[0] <= '9' && schema[1] == '.' && is_recorded(file);
  } catch (const InputError&) {
    return is_json;
  } catch (const WireError&) {
    return false;
  }
}

}  // namespace lockstep::chakra
