#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/gzip_unpacker.hpp"

namespace lockstep {

/// The bytes of a file, unpacked where it is a gzip file, a block at a time: for files larger than one wants
/// in memory.
class UnpackedBlocks {
 public:
  /// @throws InputError when the file cannot be read
  explicit UnpackedBlocks(std::string file_name);

  /// The next bytes, valid until the next call; empty at the end.
  /// @throws InputError for a gzip file that is cut off or broken
  [[nodiscard]] std::string_view next() { return unpacker_.next(); }

  /// Does what GzipUnpacker::expect_whole() does.
  void expect_whole() { unpacker_.expect_whole(); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string_view stored();

  std::string file_name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> block_;
  GzipUnpacker unpacker_;
};

/// Hands the blocks of a file to @p take, in order. What is wrong with a gzip file is told before what is
/// wrong with its contents.
/// @throws InputError when it cannot be read, is cut off or broken; what @p take throws
void for_each_block(const std::string& file_name, const std::function<void(std::string_view)>& take);

}  // namespace lockstep
