#include "traces/chakra/node_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "traces/chakra/attribute_value.hpp"
#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {
namespace {

using Type = WireReader::Type;

/// The attributes that matter; all others are passed over unread.
enum class Meaning : std::uint8_t {
  None,
  IsCpu,
  Operations,
  TensorSize,
  CommType,
  CommSize,
  Source,
  Target,
  Tag,
  Group,
  Dimensions
};

Meaning meaning_of(std::string_view name) {
  switch (name.size()) {
    case 7:
      return name == "num_ops" ? Meaning::Operations : name == "pg_name" ? Meaning::Group : Meaning::None;
    case 8:
      return name == "comm_src"   ? Meaning::Source
             : name == "comm_dst" ? Meaning::Target
             : name == "comm_tag" ? Meaning::Tag
                                  : Meaning::None;
    case 9:
      return name == "is_cpu_op"   ? Meaning::IsCpu
             : name == "comm_type" ? Meaning::CommType
             : name == "comm_size" ? Meaning::CommSize
                                   : Meaning::None;
    case 11:
      return name == "tensor_size" ? Meaning::TensorSize : Meaning::None;
    case 12:
      return name == "involved_dim" ? Meaning::Dimensions : Meaning::None;
    default:
      return Meaning::None;
  }
}

struct Attribute : AttributeValue {
  std::string_view name;
  Meaning meaning = Meaning::None;
};

/// @param attribute empty. The name mostly comes first: then what does not matter is not read on
void read_attribute(std::string_view bytes, Attribute& attribute) {
  WireReader message{bytes};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    if (field.number() == 1) {
      WireReader::expect(field, Type::Length);
      attribute.name = message.bytes();
      attribute.meaning = meaning_of(attribute.name);
      if (attribute.meaning == Meaning::None) {
        return;
      }
    } else {
      read_attribute_value(message, field, attribute);
    }
  }
}

/// A number as a number, or as the text of one.
double number_of(const Attribute& attribute) {
  if (attribute.number) {
    return *attribute.number;
  }
  double number = 0;
  const std::string_view text = attribute.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw WireError{fmt::format("attribute '{}' is no number", attribute.name)};
  }
  return number;
}

/// A list of bool: field 1, packed or not.
bool has_false(std::string_view list) {
  WireReader message{list};
  bool found = false;
  while (!message.done()) {
    const WireReader::Field field = message.field();
    if (field.type() == Type::Length) {
      const std::string_view packed = message.bytes();
      found = found || packed.find('\0') != std::string_view::npos;
    } else {
      WireReader::expect(field, Type::Varint);
      found = message.varint() == 0 || found;
    }
  }
  return found;
}

void apply(const Attribute& attribute, NodeRecord& node) {
  switch (attribute.meaning) {
    case Meaning::IsCpu:
      node.is_cpu = number_of(attribute) != 0;
      return;
    case Meaning::Operations:
      node.operations = number_of(attribute);
      return;
    case Meaning::TensorSize:
      node.bytes = number_of(attribute);
      return;
    case Meaning::Source:
      node.source = number_of(attribute);
      return;
    case Meaning::Target:
      node.target = number_of(attribute);
      return;
    case Meaning::Tag:
      node.tag = number_of(attribute);
      return;
    case Meaning::CommType:
      node.comm_type = number_of(attribute);
      return;
    case Meaning::CommSize:
      node.comm_size = number_of(attribute);
      return;
    case Meaning::Group:
      node.group = attribute.text;
      return;
    case Meaning::Dimensions:
      node.skips_dimensions = has_false(attribute.bools);
      return;
    case Meaning::None:
      return;
  }
}

/// Repeated integers: packed into one field, or a field each.
void read_numbers(WireReader& message, WireReader::Field field, std::vector<std::uint64_t>& numbers) {
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

void clear(NodeRecord& node) {
  node.id = 0;
  node.name = {};
  node.type = 0;
  node.microseconds = 0;
  node.duration = {};
  node.dependencies.clear();
  node.is_cpu = false;
  node.operations = 0;
  node.bytes = 0;
  node.source.reset();
  node.target.reset();
  node.tag.reset();
  node.comm_type.reset();
  node.comm_size.reset();
  node.group = {};
  node.skips_dimensions = false;
}

}  // namespace

void read_node(std::string_view record, NodeRecord& node) {
  clear(node);
  WireReader message{record};
  Attribute attribute;
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
        node.type = number(field);
        break;
      case 4:  // control
      case 5:  // data
        read_numbers(message, field, node.dependencies);
        break;
      case 7: {
        const std::string_view rest = message.rest();
        node.microseconds = number(field);
        node.duration = rest.substr(0, rest.size() - message.rest().size());
        break;
      }
      case 10:
        WireReader::expect(field, Type::Length);
        attribute = {};
        read_attribute(message.bytes(), attribute);
        apply(attribute, node);
        break;
      default:
        message.skip(field.type());
    }
  }
}

bool is_metadata(std::string_view record) {
  try {
    WireReader message{record};
    while (!message.done()) {
      const WireReader::Field field = message.field();
      if ((field.number() != 1 && field.number() != 2) || field.type() != Type::Length) {
        return false;
      }
      (void)message.bytes();
    }
    return true;
  } catch (const WireError&) {
    return false;
  }
}

bool is_node_of_2023(std::string_view record) {
  constexpr std::uint64_t kFirst = 8;  // input_tensor_loc; inputs, a message, since 0.0.4
  constexpr std::uint64_t kLast = 20;  // comm_priority
  try {
    WireReader message{record};
    bool has_number = false;
    while (!message.done()) {
      const WireReader::Field field = message.field();
      has_number = has_number || (field.type() == Type::Varint && field.number() >= kFirst);
      if (field.number() < 1 || field.number() > kLast) {
        return false;
      }
      message.skip(field.type());
    }
    return has_number;
  } catch (const WireError&) {
    return false;
  }
}

}  // namespace lockstep::chakra
