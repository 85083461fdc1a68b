#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {
class UnpackedBlocks;
}

namespace lockstep::chakra {

/// The records of an execution trace (`.et`): each its length as a varint, then so many bytes. Reads as it
/// goes, in pieces; gzip'ed files are unpacked on the way.
class RecordReader {
 public:
  /// @throws InputError when the file cannot be opened
  explicit RecordReader(std::filesystem::path path);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// The next record, valid until the next call. False: the file has ended, and with a whole record.
  /// @throws InputError for a file that is cut off or cannot be read
  bool next(std::string_view& record);

  /// Does what GzipUnpacker::expect_whole() does.
  void expect_whole();

  /// The place where the latest record begins, in bytes from the beginning of the (unpacked) file.
  [[nodiscard]] std::uint64_t offset() const { return record_offset_; }

  /// `PATH: byte N: why` as an InputError, N that of the latest record; of a gzip file that is cut off that.
  [[noreturn]] void reject(const std::string& why) const;

 private:
  [[nodiscard]] std::size_t buffered() const { return filled_ - used_; }
  bool fill(std::size_t wanted);
  bool length(std::uint64_t& size);

  std::filesystem::path path_;
  std::unique_ptr<UnpackedBlocks> blocks_;
  std::string buffer_;
  std::size_t used_ = 0;        ///< of the buffer, by records handed out
  std::size_t filled_ = 0;      ///< of the buffer, by the file
  std::uint64_t consumed_ = 0;  ///< bytes of the file before the buffer
  std::uint64_t record_offset_ = 0;
};

}  // namespace lockstep::chakra
