#include "traces/chakra/program_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep::chakra {
namespace {

using Type = WireReader::Type;

// Fields of AttributeProto by kind; that of a kind's list is the next.
constexpr std::uint64_t kName = 1, kDouble = 3, kDoubles = 4, kInt32 = 7, kInt64 = 9, kUint32 = 11;
constexpr std::uint64_t kUint64 = 13, kUint64s = 14, kBool = 27, kText = 29, kTexts = 30;

template <class Take>
void read_list(std::string_view list, const Take& take) {
  WireReader message{list};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    WireReader::expect(field, Type::Length);
    take(message.bytes());
  }
}

std::vector<double> doubles(std::string_view list) {
  std::vector<double> values;
  read_list(list, [&](std::string_view packed) {
    for (WireReader numbers{packed}; !numbers.done();) {
      values.push_back(std::bit_cast<double>(numbers.fixed64()));
    }
  });
  return values;
}

std::vector<double> whole_numbers(std::string_view list) {
  std::vector<double> values;
  read_list(list, [&](std::string_view packed) {
    for (WireReader numbers{packed}; !numbers.done();) {
      values.push_back(static_cast<double>(numbers.varint()));
    }
  });
  return values;
}

ProgramAttribute read_program_attribute(std::string_view bytes) {
  ProgramAttribute attribute;
  WireReader message{bytes};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    switch (field.number()) {
      case kName:
        WireReader::expect(field, Type::Length);
        attribute.name = message.bytes();
        break;
      case kDouble:
        WireReader::expect(field, Type::Fixed64);
        attribute.number = std::bit_cast<double>(message.fixed64());
        break;
      case kInt32:
      case kInt64:
        WireReader::expect(field, Type::Varint);
        attribute.number = static_cast<double>(static_cast<std::int64_t>(message.varint()));
        break;
      case kUint32:
      case kUint64:
      case kBool:
        WireReader::expect(field, Type::Varint);
        attribute.number = static_cast<double>(message.varint());
        break;
      case kText:
        WireReader::expect(field, Type::Length);
        attribute.text = message.bytes();
        break;
      case kTexts:
        WireReader::expect(field, Type::Length);
        read_list(message.bytes(), [&](std::string_view text) { attribute.texts.emplace_back(text); });
        break;
      case kDoubles:
        WireReader::expect(field, Type::Length);
        attribute.numbers = doubles(message.bytes());
        break;
      case kUint64s:
        WireReader::expect(field, Type::Length);
        attribute.numbers = whole_numbers(message.bytes());
        break;
      default:
        message.skip(field.type());
    }
  }
  return attribute;
}

}  // namespace

void ProgramAttributes::add(std::string_view message) {
  list_.push_back(read_program_attribute(message));
}

const ProgramAttribute* ProgramAttributes::find(std::string_view name) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const ProgramAttribute& one) { return one.name == name; });
  return found == list_.end() ? nullptr : &*found;
}

const ProgramAttribute& ProgramAttributes::at(std::string_view name) const {
  const ProgramAttribute* const found = find(name);
  if (found == nullptr) {
    throw WireError{fmt::format("attribute '{}' is missing", name)};
  }
  return *found;
}

std::string_view ProgramAttributes::text(std::string_view name) const {
  return at(name).text;
}

double ProgramAttributes::number(std::string_view name) const {
  const ProgramAttribute& attribute = at(name);
  if (!attribute.number || !std::isfinite(*attribute.number)) {
    throw WireError{fmt::format("attribute '{}' is no number", name)};
  }
  return *attribute.number;
}

double ProgramAttributes::number_or(std::string_view name, double otherwise) const {
  return find(name) == nullptr ? otherwise : number(name);
}

std::uint32_t ProgramAttributes::index(std::string_view name, double bound) const {
  const double value = number(name);
  if (value < 0 || value >= bound || value != std::floor(value)) {
    throw WireError{
        fmt::format("attribute '{}' is {}, not a whole number from 0 to below {}", name, value, bound)};
  }
  return static_cast<std::uint32_t>(value);
}

void read_program_node(std::string_view record, ProgramNode& node) {
  node.id = 0;
  node.name = {};
  node.type = 0;
  node.parent = 0;
  node.attributes.clear();
  WireReader message{record};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    switch (field.number()) {
      case 1:
        WireReader::expect(field, Type::Varint);
        node.id = message.varint();
        break;
      case 2:
        WireReader::expect(field, Type::Length);
        node.name = message.bytes();
        break;
      case 3:
        WireReader::expect(field, Type::Varint);
        node.type = message.varint();
        break;
      case 4: {
        WireReader::expect(field, Type::Length);
        WireReader ids{message.bytes()};
        node.parent = ids.done() ? 0 : ids.varint();
        break;
      }
      case 10:
        WireReader::expect(field, Type::Length);
        node.attributes.add(message.bytes());
        break;
      default:
        message.skip(field.type());
    }
  }
}

ProgramAttributes read_metadata(std::string_view record) {
  ProgramAttributes attributes;
  WireReader message{record};
  while (!message.done()) {
    const WireReader::Field field = message.field();
    WireReader::expect(field, Type::Length);
    const std::string_view bytes = message.bytes();
    if (field.number() == 2) {
      attributes.add(bytes);
    }
  }
  return attributes;
}

}  // namespace lockstep::chakra
