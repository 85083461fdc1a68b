#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {

/// The value of an AttributeProto: one of its scalar kinds, or a list of bool, whose bytes are kept. Views
/// point into the message.
struct AttributeValue {
  std::optional<double> number;
  std::string_view text;   ///< string and bytes
  std::string_view bools;  ///< the message of a bool list
};

inline double unzigzag(std::uint64_t value) {
  return static_cast<double>(static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U));
}

/// Field numbers of AttributeProto; a kind's list has the number after it.
inline void read_attribute_value(WireReader& message, WireReader::Field field, AttributeValue& attribute) {
  using Type = WireReader::Type;
  const auto as = [&](Type type) { WireReader::expect(field, type); };
  switch (field.number()) {
    case 3:  // double
      as(Type::Fixed64);
      attribute.number = std::bit_cast<double>(message.fixed64());
      return;
    case 5:  // float
      as(Type::Fixed32);
      attribute.number = static_cast<double>(std::bit_cast<float>(message.fixed32()));
      return;
    case 7:  // int32
    case 9:  // int64
      as(Type::Varint);
      attribute.number = static_cast<double>(static_cast<std::int64_t>(message.varint()));
      return;
    case 11:  // uint32
    case 13:  // uint64
    case 27:  // bool
      as(Type::Varint);
      attribute.number = static_cast<double>(message.varint());
      return;
    case 15:  // sint32
    case 17:  // sint64
      as(Type::Varint);
      attribute.number = unzigzag(message.varint());
      return;
    case 19:  // fixed32
      as(Type::Fixed32);
      attribute.number = static_cast<double>(message.fixed32());
      return;
    case 21:  // fixed64
      as(Type::Fixed64);
      attribute.number = static_cast<double>(message.fixed64());
      return;
    case 23:  // sfixed32
      as(Type::Fixed32);
      attribute.number = static_cast<double>(static_cast<std::int32_t>(message.fixed32()));
      return;
    case 25:  // sfixed64
      as(Type::Fixed64);
      attribute.number = static_cast<double>(static_cast<std::int64_t>(message.fixed64()));
      return;
    case 28:  // list of bool
      as(Type::Length);
      attribute.bools = message.bytes();
      return;
    case 29:  // string
    case 31:  // bytes
      as(Type::Length);
      attribute.text = message.bytes();
      return;
    default:  // doc_string, other lists
      message.skip(field.type());
  }
}

}  // namespace lockstep::chakra
