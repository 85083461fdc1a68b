#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::chakra {

/// Puts a protobuf message together, field by field, in the order of the calls.
/// *Source*: protobuf.dev/programming-guides/encoding (varints, wire types, packed fields).
class WireWriter {
 public:
  WireWriter& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3U);
    varint(value);
    return *this;
  }
  WireWriter& bytes(std::uint32_t field, std::string_view value) {
    constexpr unsigned kLength = 2;
    varint(std::uint64_t{field} << 3U | kLength);
    varint(value.size());
    text_ += value;
    return *this;
  }
  WireWriter& real(std::uint32_t field, double value) {
    constexpr unsigned kFixed64 = 1;
    varint(std::uint64_t{field} << 3U | kFixed64);
    fixed64(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  /// Nothing where there are none.
  WireWriter& packed(std::uint32_t field, std::span<const std::uint64_t> values) {
    if (!values.empty()) {
      WireWriter list;
      for (const std::uint64_t value : values) {
        list.varint(value);
      }
      bytes(field, list.text_);
    }
    return *this;
  }
  WireWriter& packed(std::uint32_t field, std::span<const double> values) {
    WireWriter list;
    for (const double value : values) {
      list.fixed64(std::bit_cast<std::uint64_t>(value));
    }
    return bytes(field, list.text_);
  }

  void varint(std::uint64_t value) {
    for (; value > 0x7fU; value >>= 7U) {
      text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    }
    text_ += static_cast<char>(value);
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  void fixed64(std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) {
      text_ += static_cast<char>(value >> (8 * i) & 0xffU);
    }
  }

  std::string text_;
};

/// AttributeProto: a name, and a value of one kind.
class AttributeWriter {
 public:
  /// @param field of the message that has attributes: 10 of a node, 2 of the metadata
  AttributeWriter(WireWriter& message, std::uint32_t field) : message_{message}, field_{field} {}

  void text(std::string_view name, std::string_view value) {
    write(name, WireWriter{}.bytes(kString, value));
  }
  void real(std::string_view name, double value) { write(name, WireWriter{}.real(kDouble, value)); }
  /// int32 and int64 are the same on the wire but for the field.
  void int32(std::string_view name, std::int32_t value) {
    write(name, WireWriter{}.number(kInt32, static_cast<std::uint64_t>(std::int64_t{value})));
  }
  void int64(std::string_view name, std::int64_t value) {
    write(name, WireWriter{}.number(kInt64, static_cast<std::uint64_t>(value)));
  }
  void uint64(std::string_view name, std::uint64_t value) {
    write(name, WireWriter{}.number(kUint64, value));
  }
  void boolean(std::string_view name, bool value) { write(name, WireWriter{}.number(kBool, value ? 1 : 0)); }
  void texts(std::string_view name, std::span<const std::string> values) {
    WireWriter list;
    for (const std::string& value : values) {
      list.bytes(1, value);
    }
    write(name, WireWriter{}.bytes(kString + 1, list.text()));
  }
  void reals(std::string_view name, std::span<const double> values) {
    write(name, WireWriter{}.bytes(kDouble + 1, WireWriter{}.packed(1, values).text()));
  }
  void uint64s(std::string_view name, std::span<const std::uint64_t> values) {
    write(name, WireWriter{}.bytes(kUint64 + 1, WireWriter{}.packed(1, values).text()));
  }

 private:
  // Fields of AttributeProto by kind; that of a kind's list is the next.
  static constexpr std::uint32_t kDouble = 3, kInt32 = 7, kInt64 = 9, kUint64 = 13, kBool = 27, kString = 29;

  void write(std::string_view name, const WireWriter& value) {
    WireWriter attribute;
    attribute.bytes(1, name);
    message_.bytes(field_, attribute.text() + value.text());
  }

  WireWriter& message_;
  std::uint32_t field_;
};

}  // namespace lockstep::chakra
