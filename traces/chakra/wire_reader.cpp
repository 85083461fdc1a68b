#include "traces/chakra/wire_reader.hpp"

#include <fmt/format.h>

namespace lockstep::chakra {

std::uint64_t WireReader::long_varint() {
  constexpr unsigned kMostBits = 64;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kMostBits; shift += 7) {
    if (at_ == end_) {
      throw WireError{"a number goes on beyond the end of its record"};
    }
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) {
      return value;
    }
  }
  throw WireError{"a number has more than 64 bits"};
}

void WireReader::beyond_the_end(std::uint64_t size) const {
  throw WireError{fmt::format("a field of {} bytes, {} are left in its record", size, end_ - at_)};
}

/// Little-endian, whatever the machine is.
std::uint64_t WireReader::fixed(unsigned size) {
  if (end_ - at_ < static_cast<std::ptrdiff_t>(size)) {
    beyond_the_end(size);
  }
  std::uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(*at_++)} << (8 * i);
  }
  return value;
}

void WireReader::skip(Type type) {
  switch (type) {
    case Type::Varint:
      (void)varint();
      return;
    case Type::Fixed64:
      (void)fixed64();
      return;
    case Type::Length:
      (void)bytes();
      return;
    case Type::Fixed32:
      (void)fixed32();
      return;
  }
  throw WireError{fmt::format("a field of unknown wire type {}", static_cast<unsigned>(type))};
}

void WireReader::unexpected(Field field, Type type) {
  throw WireError{fmt::format("field {} has wire type {} where {} is expected", field.number(),
                              static_cast<unsigned>(field.type()), static_cast<unsigned>(type))};
}

}  // namespace lockstep::chakra
