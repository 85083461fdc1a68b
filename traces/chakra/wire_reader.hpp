#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace lockstep::chakra {

/// Bytes that are no protobuf message.
struct WireError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Takes a protobuf message apart, field by field, without copying anything: views point into the message.
/// Every access is checked against its end.
/// *Source*: protobuf.dev/programming-guides/encoding (varints, wire types, packed fields).
class WireReader {
 public:
  enum class Type : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };
  /// A field's number and type in the one number that the wire has for both: it stays in a register.
  class Field {
   public:
    explicit Field(std::uint64_t key) : key_{key} {}
    [[nodiscard]] std::uint64_t number() const { return key_ >> 3U; }
    [[nodiscard]] Type type() const { return static_cast<Type>(key_ & 7U); }

   private:
    std::uint64_t key_;
  };

  explicit WireReader(std::string_view message)
      : at_{message.data()}, end_{message.data() + message.size()} {}

  [[nodiscard]] bool done() const { return at_ == end_; }
  /// The part that has not been read yet.
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  /// The next field's number and type; its value is read, or skipped, by what follows.
  /// @throws WireError as all that read
  Field field() { return Field{varint()}; }

  std::uint64_t varint() {
    if (end_ - at_ >= 2) {  // most have one byte or two
      const std::uint64_t low = static_cast<unsigned char>(at_[0]);
      const std::uint64_t high = static_cast<unsigned char>(at_[1]);
      if (low < 0x80U) {
        ++at_;
        return low;
      }
      if (high < 0x80U) {
        at_ += 2;
        return (low & 0x7fU) | high << 7U;
      }
    }
    return long_varint();
  }
  std::string_view bytes() {
    const std::uint64_t size = varint();
    if (size > static_cast<std::uint64_t>(end_ - at_)) {
      beyond_the_end(size);
    }
    const std::string_view taken{at_, static_cast<std::size_t>(size)};
    at_ += size;
    return taken;
  }
  std::uint64_t fixed64() { return fixed(8); }
  std::uint32_t fixed32() { return static_cast<std::uint32_t>(fixed(4)); }

  void skip(Type type);

  /// @throws WireError when @p field is not of this type
  static void expect(Field field, Type type) {
    if (field.type() != type) {
      unexpected(field, type);
    }
  }

 private:
  std::uint64_t long_varint();
  [[noreturn]] void beyond_the_end(std::uint64_t size) const;
  [[noreturn]] static void unexpected(Field field, Type type);
  std::uint64_t fixed(unsigned size);

  const char* at_;
  const char* end_;
};

}  // namespace lockstep::chakra
