#pragma once

/// @file
/// Chakra execution traces written by hand, byte by byte: the tests' own encoder, which knows nothing of the
/// reader.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::testing {

inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number > 0x7f; number >>= 7U) {
    bytes += static_cast<char>(number & 0x7fU | 0x80U);
  }
  return bytes + static_cast<char>(number);
}

inline std::string number_field(std::uint32_t field, std::uint64_t number) {
  return varint(field << 3U) + varint(number);
}

inline std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()) + std::string{bytes};
}

inline std::string framed(const std::string& message) {
  return varint(message.size()) + message;
}

/// An AttributeProto of a node whose value is already a field.
inline std::string attribute(std::string_view name, const std::string& value) {
  return bytes_field(10, bytes_field(1, name) + value);
}

constexpr std::uint32_t kInt32 = 7, kInt64 = 9, kUint64 = 13;  // fields of AttributeProto

/// Writes a trace, a node a call. Ids count from @p first_id.
class EtWriter {
 public:
  using Ids = std::vector<std::uint64_t>;

  explicit EtWriter(std::uint64_t first_id = 0) : next_{first_id} { text_ = framed(bytes_field(1, "0.0.4")); }

  std::uint64_t compute(const std::string& name, const Ids& needed, std::uint64_t microseconds) {
    return node(next_, name, 4, needed, number_field(7, microseconds));
  }
  std::uint64_t collective(std::uint64_t comm_type, const Ids& needed, std::uint64_t size,
                           const std::string& group = "") {
    return node(next_, "collective", 7, needed,
                attribute("comm_type", number_field(kInt64, comm_type)) +
                    attribute("comm_size", number_field(kInt64, size)) +
                    (group.empty() ? "" : attribute("pg_name", bytes_field(29, group))));
  }
  std::uint64_t all_reduce(const Ids& needed, std::uint64_t size, const std::string& group = "") {
    return collective(0, needed, size, group);
  }
  /// @param peer comm_dst
  std::uint64_t send(std::uint64_t peer, std::uint64_t tag, const Ids& needed, std::uint64_t size) {
    return node(next_, "send", 5, needed, message("comm_dst", peer, tag, size));
  }
  /// @param peer comm_src
  std::uint64_t receive(std::uint64_t peer, std::uint64_t tag, const Ids& needed, std::uint64_t size) {
    return node(next_, "receive", 6, needed, message("comm_src", peer, tag, size));
  }
  /// A compute node, or a copy (type 2: load, 3: store), without a duration.
  std::uint64_t work(std::uint64_t type, const Ids& needed, std::uint64_t operations, std::uint64_t bytes) {
    return node(next_, "work", type, needed,
                attribute("num_ops", number_field(kInt64, operations)) +
                    attribute("tensor_size", number_field(kUint64, bytes)));
  }
  /// @param rest further fields
  std::uint64_t node(std::uint64_t id, const std::string& name, std::uint64_t type, const Ids& needed,
                     const std::string& rest = "") {
    std::string packed;
    for (const std::uint64_t other : needed) {
      packed += varint(other);
    }
    text_ += framed(number_field(1, id) + bytes_field(2, name) + number_field(3, type) +
                    (needed.empty() ? "" : bytes_field(5, packed)) + rest);
    next_ = id + 1;
    return id;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string message(const std::string& end, std::uint64_t peer, std::uint64_t tag,
                             std::uint64_t size) {
    return attribute(end, number_field(kInt32, peer)) + attribute("comm_tag", number_field(kInt32, tag)) +
           attribute("comm_size", number_field(kInt64, size));
  }

  std::string text_;
  std::uint64_t next_;
};

}  // namespace lockstep::testing
