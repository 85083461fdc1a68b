#include "traces/gzip_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/error.hpp"
#include "small_job.hpp"

namespace lockstep::test {
namespace {

/// Lines that repeat themselves in part, as a timeline does.
std::string some_text(std::size_t lines) {
  std::mt19937 random{7};
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += R"({"ph":"X","name":"kernel_)" + std::to_string(random() % 50) + R"(","ts":)" +
            std::to_string(random()) + "}\n";
  }
  return text;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Writes @p text in pieces of 1000 bytes, a block for every ten or eleven of them.
std::string write_with(int threads, const std::filesystem::path& path, const std::string& text) {
  BlockCompressor compressor{1, threads};
  GzipFile file{path, compressor, 10'500};
  for (std::size_t at = 0; at < text.size(); at += 1000) {
    file.append(std::string_view{text}.substr(at, 1000));
  }
  EXPECT_EQ(file.text_size(), text.size());
  file.complete();
  file.publish();
  return bytes_of(path);
}

class GzipFileTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "text.gz";
};

TEST_F(GzipFileTest, ReadsBackAcrossBlocks) {
  const std::string text = some_text(20'000);  // about 1 MB: some hundred blocks
  write_with(2, path_, text);
  EXPECT_EQ(gunzip(path_), text);
  EXPECT_THAT(directory_.files(), ::testing::ElementsAre("text.gz"));
}

TEST_F(GzipFileTest, BytesDoNotDependOnThreads) {
  const std::string text = some_text(20'000);
  const std::string alone = write_with(0, path_, text);
  EXPECT_EQ(write_with(1, path_, text), alone);
  EXPECT_EQ(write_with(4, path_, text), alone);
}

TEST_F(GzipFileTest, BlocksContinueTheWindowOfTheOneBefore) {
  // 8 kB without repetition, twice: blocks of 10.5 kB cut the second half, whose end is found in the window
  // that the first block left and costs next to nothing. Without it the 5 kB would cost 60 % of a half.
  // 64 letters: three in a row hardly ever come again, so nothing else repeats.
  std::mt19937 random{1};
  std::string half;
  while (half.size() < 8'000) {
    half += static_cast<char>('0' + random() % 64);
  }
  const std::size_t once = write_with(1, path_, half).size();
  const std::size_t twice = write_with(1, path_, half + half).size();
  EXPECT_LT(static_cast<double>(twice), 1.2 * static_cast<double>(once));
}

TEST_F(GzipFileTest, TakesPiecesLongerThanABlock) {
  const std::string text = some_text(5'000);
  BlockCompressor compressor{6, 1};
  GzipFile file{path_, compressor, 100};
  file.append("short\n");
  file.append(text);
  file.append("end\n");
  file.complete();
  file.publish();
  EXPECT_EQ(gunzip(path_), "short\n" + text + "end\n");
}

TEST_F(GzipFileTest, EmptyTextIsAGzipFileToo) {
  write_with(1, path_, "");
  EXPECT_EQ(gunzip(path_), "");
}

TEST_F(GzipFileTest, AppearsOnlyWhenPublished) {
  {
    BlockCompressor compressor{1, 1};
    GzipFile file{path_, compressor, 100};
    file.append(some_text(1000));
    file.complete();
    EXPECT_THAT(directory_.files(), ::testing::ElementsAre(::testing::EndsWith(".part")));
  }
  EXPECT_TRUE(directory_.files().empty());
}

TEST_F(GzipFileTest, SaysWhichFileCannotBeWritten) {
  BlockCompressor compressor{1, 1};
  std::filesystem::create_directory(path_);  // in the place of the file
  try {
    const GzipFile file{path_, compressor, 100};
    FAIL() << "begun over a directory";
  } catch (const InputError& error) {
    EXPECT_EQ(error.where().file, path_.string());
  }
}

TEST(BlockCompressor, RefusesLevelsThatZlibDoesNotHave) {
  EXPECT_THROW((BlockCompressor{0, 1}), std::invalid_argument);
  EXPECT_THROW((BlockCompressor{10, 1}), std::invalid_argument);
  EXPECT_THROW((BlockCompressor{1, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::test
