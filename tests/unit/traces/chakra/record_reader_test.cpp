#include "traces/chakra/record_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.hpp"
#include "tests/support/chakra_trace.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::chakra {
namespace {

using ::testing::ElementsAre;
using testing::framed;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> records_of(const std::filesystem::path& path) {
  RecordReader reader{path};
  std::vector<std::string> records;
  for (std::string_view record; reader.next(record);) {
    records.emplace_back(record);
  }
  return records;
}

class RecordReaderTest : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) {
    folder_.write("trace.et", content);
    return folder_ / "trace.et";
  }
  test::ScratchFolder folder_;
};

TEST_F(RecordReaderTest, HandsOutRecordsInOrder) {
  EXPECT_THAT(records_of(file(framed("one") + framed("") + framed("three"))),
              ElementsAre("one", "", "three"));
  EXPECT_THAT(records_of(file("")), ElementsAre());
}

// Pieces of 64 KiB are read: records end before, at and after their ends, and one is longer than three.
TEST_F(RecordReaderTest, RecordsMayCrossThePiecesThatAreRead) {
  std::vector<std::string> records;
  std::string content;
  for (std::size_t i = 0; i < 300; ++i) {
    records.emplace_back(i == 150 ? 200'000 : 997 + i % 3, static_cast<char>('a' + i % 26));
    content += framed(records.back());
  }
  EXPECT_EQ(records_of(file(content)), records);
}

TEST_F(RecordReaderTest, UnpacksGzip) {
  const std::string content = framed("one") + framed(std::string(100'000, 'x'));
  const std::string path = folder_ / "packed.et";
  gzFile packed = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(packed, content.data(), static_cast<unsigned>(content.size())),
            static_cast<int>(content.size()));
  gzclose(packed);
  EXPECT_THAT(records_of(path), ElementsAre("one", std::string(100'000, 'x')));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT([&] { records_of(path); }, ThrowsMessage<InputError>(HasSubstr("cut off")));
}

TEST_F(RecordReaderTest, TellsWhereAFileIsCutOff) {
  const std::string whole = framed("one") + framed("three");
  EXPECT_THAT([&] { records_of(file(whole.substr(0, 7))); },
              ThrowsMessage<InputError>(HasSubstr("trace.et: byte 4: the file ends after 2 of the 5 bytes")));
  EXPECT_THAT([&] { records_of(file(framed("one") + "\x80")); },
              ThrowsMessage<InputError>(HasSubstr("byte 4: the file ends within the length of a record")));
}

TEST_F(RecordReaderTest, DoesNotBelieveAbsurdLengths) {
  EXPECT_THAT([&] { records_of(file(testing::varint(1ULL << 40U) + "abc")); },
              ThrowsMessage<InputError>(HasSubstr("no Chakra execution trace")));
  EXPECT_THAT([&] { records_of(file(std::string(20, '\xff'))); },
              ThrowsMessage<InputError>(HasSubstr("more than 64 bits")));
}

TEST_F(RecordReaderTest, TellsWhyAFileCannotBeRead) {
  EXPECT_THAT([&] { records_of(folder_ / "none.et"); }, ThrowsMessage<InputError>(HasSubstr("no such file")));
  EXPECT_THAT([&] { records_of(folder_.path()); },
              ThrowsMessage<InputError>(HasSubstr("a folder, where a file is expected")));
}

}  // namespace
}  // namespace lockstep::chakra
