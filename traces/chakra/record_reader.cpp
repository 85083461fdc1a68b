#include "traces/chakra/record_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::size_t kPiece = 1U << 16U;              // bytes read at a time
constexpr std::size_t kLongestLength = 10;             // bytes of a 64-bit varint
constexpr std::uint64_t kLongestRecord = 1ULL << 31U;  // protobuf's own limit, 2 GiB

}  // namespace

struct RecordReader::File {
  explicit File(gzFile opened) : handle{opened} {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { gzclose(handle); }
  gzFile handle;
};

RecordReader::RecordReader(std::filesystem::path path) : path_{std::move(path)}, buffer_(kPiece, '\0') {
  errno = 0;
  gzFile handle = std::filesystem::is_directory(path_) ? nullptr : gzopen(path_.c_str(), "rb");
  if (handle == nullptr) {
    const std::string why = errno == ENOENT ? "no such file" + sibling_meant(path_)
                                            : std::string{errno != 0 ? std::strerror(errno) : "not a file"};
    throw InputError{{path_.string()}, "the trace cannot be read: " + why};
  }
  file_ = std::make_unique<File>(handle);
}

RecordReader::~RecordReader() = default;

void RecordReader::reject(const std::string& why) const {
  throw InputError{{path_.string()}, fmt::format("byte {}: {}", record_offset_, why)};
}

/// Brings @p wanted bytes into the buffer. False: the file has fewer.
bool RecordReader::fill(std::size_t wanted) {
  if (buffered() >= wanted) {
    return true;
  }
  std::memmove(buffer_.data(), buffer_.data() + used_, buffered());
  filled_ -= used_;
  consumed_ += used_;
  used_ = 0;
  while (filled_ < wanted) {
    if (buffer_.size() < filled_ + kPiece) {
      buffer_.resize(filled_ + kPiece);  // a record's claim to be long is believed only as it comes
    }
    const int got = gzread(file_->handle, buffer_.data() + filled_, static_cast<unsigned>(kPiece));
    if (got < 0) {
      int code = Z_OK;
      const std::string why = gzerror(file_->handle, &code);
      reject(code == Z_BUF_ERROR ? "the compressed file is cut off" : "the file cannot be read: " + why);
    }
    if (got == 0) {
      return false;
    }
    filled_ += static_cast<std::size_t>(got);
  }
  return true;
}

/// The length in front of a record. False: nothing more comes.
bool RecordReader::length(std::uint64_t& size) {
  size = 0;
  for (std::size_t i = 0; i < kLongestLength; ++i) {
    if (used_ == filled_ && !fill(1)) {
      if (i == 0) {
        return false;
      }
      reject("the file ends within the length of a record: it is cut off");
    }
    const auto byte = static_cast<unsigned char>(buffer_[used_++]);
    size |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80U) == 0) {
      return true;
    }
  }
  reject("no Chakra execution trace: a record's length has more than 64 bits");
}

bool RecordReader::next(std::string_view& record) {
  record_offset_ = consumed_ + used_;
  std::uint64_t size = 0;
  if (!length(size)) {
    return false;
  }
  if (size > kLongestRecord) {
    reject(fmt::format("no Chakra execution trace: a record would have {} bytes", size));
  }
  const auto wanted = static_cast<std::size_t>(size);
  if (!fill(wanted)) {
    reject(
        fmt::format("the file ends after {} of the {} bytes of a record: it is cut off, or no Chakra "
                    "execution trace",
                    buffered(), size));
  }
  record = {buffer_.data() + used_, wanted};
  used_ += wanted;
  return true;
}

}  // namespace lockstep::chakra
