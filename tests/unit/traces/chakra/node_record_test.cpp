#include "traces/chakra/node_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/chakra_trace.hpp"
#include "traces/chakra/wire_reader.hpp"

namespace lockstep::chakra {
namespace {

using testing::attribute;
using testing::bytes_field;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::number_field;
using ::testing::ThrowsMessage;
using testing::varint;

std::string fixed(std::uint32_t field, std::uint64_t value, unsigned size) {
  std::string bytes = varint(field << 3U | (size == 8 ? 1U : 5U));
  for (unsigned i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> 8 * i & 0xffU);
  }
  return bytes;
}

/// A node whose comm_size is @p value, a field of AttributeProto.
std::optional<double> size_of(const std::string& value) {
  NodeRecord node;
  const std::string record = attribute("comm_size", value);
  read_node(record, node);
  return node.comm_size;
}

TEST(NodeRecord, KeepsWhatSimulationNeeds) {
  const std::string record =
      number_field(1, 300) + bytes_field(2, "fwd.0") + number_field(3, 7) + bytes_field(4, varint(7)) +
      bytes_field(5, varint(8) + varint(299)) + number_field(7, 1500) +
      attribute("is_cpu_op", number_field(27, 1)) + attribute("num_ops", number_field(9, 12)) +
      attribute("comm_type", number_field(9, 7)) + attribute("pg_name", bytes_field(29, "tp0"));
  NodeRecord node;
  read_node(record, node);
  EXPECT_EQ(node.id, 300);
  EXPECT_EQ(node.name, "fwd.0");
  EXPECT_EQ(node.type, 7);
  EXPECT_EQ(node.microseconds, 1500);
  EXPECT_THAT(node.dependencies, ElementsAre(7, 8, 299));
  EXPECT_TRUE(node.is_cpu);
  EXPECT_EQ(node.operations, 12);
  EXPECT_EQ(node.comm_type, 7);
  EXPECT_EQ(node.comm_size, std::nullopt);
  EXPECT_EQ(node.group, "tp0");
}

TEST(NodeRecord, NothingIsLeftOfTheNodeBefore) {
  NodeRecord node;
  read_node(number_field(1, 5) + bytes_field(5, varint(4)) + attribute("comm_size", number_field(9, 1)),
            node);
  read_node("", node);
  EXPECT_EQ(node.id, 0);
  EXPECT_THAT(node.dependencies, ElementsAre());
  EXPECT_EQ(node.comm_size, std::nullopt);
}

TEST(NodeRecord, DependenciesMayComeUnpacked) {
  NodeRecord node;
  read_node(number_field(5, 1) + number_field(5, 200) + number_field(4, 3), node);
  EXPECT_THAT(node.dependencies, ElementsAre(1, 200, 3));
}

// Writers differ in the kind of a number; the schema has sixteen of them, and text.
TEST(NodeRecord, TakesNumbersOfEveryKind) {
  EXPECT_EQ(size_of(fixed(3, std::bit_cast<std::uint64_t>(42.0), 8)), 42);
  EXPECT_EQ(size_of(fixed(5, std::bit_cast<std::uint32_t>(42.0F), 4)), 42);
  for (const std::uint32_t kind : {7U, 9U, 11U, 13U}) {
    EXPECT_EQ(size_of(number_field(kind, 42)), 42) << kind;
  }
  for (const std::uint32_t kind : {15U, 17U}) {
    EXPECT_EQ(size_of(number_field(kind, 84)), 42) << kind;
    EXPECT_EQ(size_of(number_field(kind, 83)), -42) << kind;
  }
  EXPECT_EQ(size_of(fixed(19, 42, 4)), 42);
  EXPECT_EQ(size_of(fixed(21, 42, 8)), 42);
  EXPECT_EQ(size_of(fixed(23, 42, 4)), 42);
  EXPECT_EQ(size_of(fixed(25, 42, 8)), 42);
  EXPECT_EQ(size_of(number_field(27, 1)), 1);
  EXPECT_EQ(size_of(bytes_field(29, "134217728.0")), 134217728);
  EXPECT_EQ(size_of(number_field(9, static_cast<std::uint64_t>(-1))), -1);
  EXPECT_THAT([] { size_of(bytes_field(29, "many")); },
              ThrowsMessage<WireError>("attribute 'comm_size' is no number"));
  EXPECT_THAT([] { size_of(""); }, ThrowsMessage<WireError>("attribute 'comm_size' is no number"));
}

TEST(NodeRecord, SeesWhetherACollectiveSkipsDimensions) {
  const auto skips = [](const std::string& list) {
    NodeRecord node;
    const std::string record = attribute("involved_dim", bytes_field(28, list));
    read_node(record, node);
    return node.skips_dimensions;
  };
  EXPECT_FALSE(skips(bytes_field(1, std::string("\1\1", 2))));
  EXPECT_TRUE(skips(bytes_field(1, std::string("\1\0", 2))));
  EXPECT_FALSE(skips(number_field(1, 1)));
  EXPECT_TRUE(skips(number_field(1, 1) + number_field(1, 0)));
}

TEST(NodeRecord, PassesOverWhatItDoesNotKnow) {
  NodeRecord node;
  read_node(number_field(99, 7) + fixed(98, 7, 8) + fixed(97, 7, 4) + bytes_field(8, "inputs") +
                attribute("unheard_of", bytes_field(30, "list")) + number_field(1, 3),
            node);
  EXPECT_EQ(node.id, 3);
}

TEST(NodeRecord, RejectsWhatIsNoNode) {
  NodeRecord node;
  EXPECT_THAT([&] { read_node(bytes_field(1, "id"), node); },
              ThrowsMessage<WireError>("field 1 has wire type 2 where 0 is expected"));
  EXPECT_THAT([&] { read_node(bytes_field(2, "name").substr(0, 4), node); },
              ThrowsMessage<WireError>("a field of 4 bytes, 2 are left in its record"));
  EXPECT_THAT([&] { read_node("\x08", node); }, ThrowsMessage<WireError>(HasSubstr("beyond the end")));
  EXPECT_THAT([&] { read_node("\x0b", node); }, ThrowsMessage<WireError>(HasSubstr("wire type 3")));
}

TEST(Metadata, IsVersionAndAttributes) {
  EXPECT_TRUE(is_metadata(""));
  EXPECT_TRUE(is_metadata(bytes_field(1, "0.0.4") + bytes_field(2, "anything")));
  EXPECT_FALSE(is_metadata(number_field(1, 0) + bytes_field(2, "a node of schema 0.0.1")));
  EXPECT_FALSE(is_metadata("name: no trace"));
}

}  // namespace
}  // namespace lockstep::chakra
