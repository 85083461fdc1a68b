#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The bytes of a file, unpacked where it is a gzip file, a block at a time: for files larger than one wants
/// in memory.
class UnpackedBlocks {
 public:
  /// @throws InputError when the file cannot be read
  explicit UnpackedBlocks(std::string file_name);

  /// The next bytes, valid until the next call; empty at the end.
  /// @throws InputError for a gzip file that is cut off or broken
  [[nodiscard]] std::string_view next();

 private:
  struct Close {
    void operator()(void* file) const;
  };
  std::string file_name_;
  std::unique_ptr<void, Close> file_;
  std::vector<char> block_;
};

}  // namespace lockstep
